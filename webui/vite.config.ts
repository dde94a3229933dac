import { defineConfig } from "vitest/config";

const master = process.env.DET_MASTER ?? "http://127.0.0.1:8080";
// What goes to the services of tasks says as from where it comes: the master takes WebSockets of its own pages only.
const proxy = { "/api": master, "/resources": master, "/proxy": { target: master, ws: true } };

export default defineConfig({
  base: "/det/",
  build: {
    target: "es2022",
    // The page's content security policy allows no inline script.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  server: { proxy },
  preview: { proxy },
  test: { include: ["src/**/*.test.ts"] },
});
