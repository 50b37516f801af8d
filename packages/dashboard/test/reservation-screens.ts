import { describe, expect, it } from "vitest";
import type { Setting } from "./signed-in.ts";

const LIST = "**/api/v1/reservations";

/** What is reserved. */
export function reservationScreens(setting: Setting): void {
  const reserve = async (identifier: string, endpoint = "/jobs"): Promise<string> => {
    const body = { checks: [{ identifier, endpoint, cost: 5 }], for_ms: 600_000 };
    const response = await setting.node.request("POST", "/api/v1/reservations", body);
    expect(response.status).toBe(201);
    return ((await response.json()) as { reservation_id: string }).reservation_id;
  };

  describe("the reservations", () => {
    it("begin with nothing, and say so if they cannot be read", async () => {
      const dashboard = await setting.open("api");
      const { page } = dashboard;
      await page.route(LIST, (route) => route.abort());
      await dashboard.show("reservations");
      await page.getByText("The service cannot be reached.").waitFor();
      await page.unroute(LIST);
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByText("Nothing is reserved").waitFor();
      await dashboard.looksRight();
    });

    it("show who uses which slots since when, and are released after a question", async () => {
      const more = { algorithm: "concurrency", window_seconds: null };
      await setting.node.addRule("jobs", "/jobs", 2, more);
      const ids = [await reserve("ann"), await reserve("ann"), await reserve("bob")];
      const dashboard = await setting.open("reservations");
      const { page } = dashboard;
      await page.getByRole("row", { name: "ann user jobs 2 of 2 All in use" }).waitFor();
      await page
        .getByRole("row", { name: /ann user .*1 slot of jobs .* ago/ })
        .first()
        .waitFor();
      await dashboard.looksRight();
      await page.getByLabel("Search").fill("nothing like this");
      await page.getByText("No reservation matches").waitFor();
      await page.getByLabel("Search").fill(ids[0]);
      await page.getByRole("heading", { name: "1 reservation" }).waitFor();

      // With the keyboard alone, first to keep it.
      await dashboard.tabTo(`[aria-label='Release ${ids[0]}']`);
      await page.keyboard.press("Enter");
      await page.getByRole("dialog", { name: "Release this reservation?" }).waitFor();
      await dashboard.looksRight();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.getByRole("button", { name: `Release ${ids[0]}` }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Release" }).click();
      await page.getByText("No reservation matches").waitFor();
      const left = await setting.node.request("GET", "/api/v1/reservations");
      const { reservations } = (await left.json()) as { reservations: { reservation_id: string }[] };
      expect(reservations.map(({ reservation_id }) => reservation_id).sort()).toEqual(ids.slice(1).sort());
      const audit = await setting.node.request("GET", "/api/v1/audit?action=reservation.release");
      expect(await audit.json()).toMatchObject({ entries: [{ subject: `reservation:${ids[0]}` }] });
    });

    it("say so if one has ended meanwhile, and are only shown to a key that may only read", async () => {
      await setting.node.addRule("tokens", "/tokens", 100);
      const id = await reserve("carla", "/tokens");
      const dashboard = await setting.open("reservations");
      const { page } = dashboard;
      await page.getByRole("button", { name: `Release ${id}` }).click();
      await setting.node.request("POST", `/api/v1/reservations/${id}/settle`, { costs: { tokens: 3 } });
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Release" }).click();
      await dialog.getByRole("alert").filter({ hasText: "costs" }).waitFor();
      const { key } = await setting.keyWith("read");
      const other = await setting.openWith(key, "reservations");
      await other.page
        .getByRole("row", { name: /bob user/ })
        .first()
        .waitFor();
      expect(await other.page.getByRole("button", { name: /^Release/ }).count()).toBe(0);
    });
  });
}
