// Bundles the benches and runs them on the program in dist/. `npm run bench -- W1` runs one;
// `npm run bench -- W1 W2 W3 --compare <git ref>` builds that commit too and measures both in turns.
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))

const outdir = join("node_modules", ".cache", "svc-bench")
await build({
  entryPoints: ["main", "load", "floor", "stub", "turns"].map((name) => `bench/${name}.ts`),
  outdir,
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  loader: { ".guest.js": "text" },
  external: ["pg-native", "cloudflare:sockets", "playwright-core"],
  banner: {
    js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);'
  },
  logLevel: "warning"
})

const run = (command, args, options = {}) => {
  const { status } = spawnSync(command, args, { stdio: "inherit", ...options })
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}`)
}

/** Builds the commit in a temporary worktree, measures with it, and removes it. */
const measureWithOther = (ref, measure) => {
  const other = join(mkdtempSync(join(tmpdir(), "svc-compare-")), "svc")
  run("git", ["worktree", "add", "--quiet", "--detach", other, ref])
  try {
    const lock = (directory) => readFileSync(join(directory, "package-lock.json"), "utf8")
    if (lock(other) === lock(".")) symlinkSync(resolve("node_modules"), join(other, "node_modules"))
    else run("npm", ["ci"], { cwd: other })
    run(process.execPath, ["scripts/build.mjs"], { cwd: other })
    return measure({ SVC_BENCH_OTHER: join(other, "dist", "svc.js"), SVC_BENCH_REF: ref })
  } finally {
    spawnSync("git", ["worktree", "remove", "--force", other], { stdio: "inherit" })
    rmSync(dirname(other), { recursive: true, force: true })
  }
}

const measure = (names, env) =>
  spawnSync(process.execPath, [join(outdir, "main.js"), ...names], {
    stdio: "inherit",
    env: { ...process.env, ...env }
  }).status ?? 1

const names = process.argv.slice(2)
const compareAt = names.indexOf("--compare")
const ref = compareAt < 0 ? undefined : names.splice(compareAt, 2)[1]
if (compareAt >= 0 && (ref === undefined || names.length === 0)) {
  console.error("Name the benches and the commit to compare: npm run bench -- W1 W2 W3 --compare <git ref>")
  process.exit(2)
}
process.exit(
  ref === undefined
    ? measure(names, {})
    : measureWithOther(ref, (env) =>
        measure(
          names.map((name) => `compare-${name}`),
          env
        )
      )
)
