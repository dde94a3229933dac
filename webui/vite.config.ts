import { defineConfig } from "vitest/config";

const master = process.env.DET_MASTER ?? "http://127.0.0.1:8080";
const proxy = { "/api": master, "/resources": master };

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
