import type { LiveNode } from "../../api/types.ts";
import { durationText, rateText } from "../../ui/format.ts";
import { Badge, Card, type Tone } from "../../ui/parts.tsx";
import { Scroll } from "../../ui/scroll.tsx";

const STORES: Readonly<Record<LiveNode["store"], readonly [Tone, string]>> = {
  memory: ["plain", "In memory"],
  reachable: ["good", "Reachable"],
  partial: ["warning", "Partly reachable"],
  unreachable: ["bad", "Unreachable"],
};

export function NodeList({ nodes }: { readonly nodes: readonly LiveNode[] }) {
  if (nodes.length === 0) return null;
  return (
    <Card title="Nodes" note="Every process of the service; each worker is one" isFlush>
      <Scroll label="Nodes">
        <table>
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">Store</th>
              <th scope="col" class="is-number">
                Checks/s
              </th>
              <th scope="col" class="is-number only-wide">
                Denied/s
              </th>
              <th scope="col" class="is-number only-wide">
                Running for
              </th>
            </tr>
          </thead>
          <tbody>
            {nodes.map((node) => {
              const [tone, text] = STORES[node.store];
              return (
                <tr key={node.node_id}>
                  <th scope="row" class="key">
                    {node.name}
                  </th>
                  <td>
                    <Badge tone={tone} hasDot>
                      {text}
                    </Badge>
                  </td>
                  <td class="is-number">{rateText(node.allowed + node.denied)}</td>
                  <td class="is-number only-wide">{rateText(node.denied)}</td>
                  <td class="is-number only-wide">
                    {durationText(Math.max(1, (Date.parse(node.at) - Date.parse(node.started_at)) / 1000))}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}
