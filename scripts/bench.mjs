// Bundles the benches and runs them on the service that was built. `npm run bench -- W1` runs one.
import { spawnSync } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))

const outdir = join("node_modules", ".cache", "svc-bench")
await build({
  entryPoints: ["main", "load", "floor", "stub"].map((name) => `bench/${name}.ts`),
  outdir,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  external: ["pg-native", "cloudflare:sockets"],
  banner: {
    js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);'
  },
  logLevel: "warning"
})
const { status } = spawnSync(process.execPath, [join(outdir, "main.js"), ...process.argv.slice(2)], {
  stdio: "inherit"
})
process.exit(status ?? 1)
