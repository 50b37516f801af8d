import { defineConfig } from "vite";

// The sources of the other workspaces are bundled, so that the order of builds does not matter.
export default defineConfig({
  resolve: { conditions: ["source", "browser", "module"] },
  build: {
    outDir: "../server/dist/dashboard",
    emptyOutDir: true,
    target: "es2022",
    // The policy of the page forbids data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  worker: { format: "es" },
  server: { proxy: { "/api": "http://127.0.0.1:8080", "/openapi.json": "http://127.0.0.1:8080" } },
});
