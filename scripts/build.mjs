// Bundles the program into dist/. Does nothing when no source is newer than the bundle, so that `npm start` may
// call it every time.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { keepEngine } from "./engines.mjs"

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))

/** When the newest file or folder below was changed; a folder changes with what is added to and removed from it. */
const newest = (path) => {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return 0
  return stat.isDirectory()
    ? readdirSync(path).reduce((latest, name) => Math.max(latest, newest(join(path, name))), stat.mtimeMs)
    : stat.mtimeMs
}

const marker = "dist/svc.js"
const sources = ["src", "migrations", "package-lock.json", "scripts/build.mjs"]
const built = statSync(marker, { throwIfNoEntry: false })?.mtimeMs ?? 0
if (Math.max(...sources.map(newest)) < built) process.exit(0)

const started = performance.now()
const startedAt = new Date()
const { build } = await import("esbuild")

/** The library's index holds a reference page of 3 MB: what only `/docs` shows is loaded when somebody looks at it. */
const withoutPages = {
  name: "without-pages",
  setup: ({ onLoad }) =>
    onLoad({ filter: /@effect\/platform\/dist\/esm\/index\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(/^export \* as HttpApi(?:Scalar|Swagger) .*$/gm, "")
    }))
}

const common = {
  bundle: true,
  plugins: [withoutPages],
  platform: "node",
  target: "node20",
  format: "esm",
  sourcemap: "linked",
  sourcesContent: false,
  minifySyntax: true,
  legalComments: "none",
  logLevel: "warning",
  write: false,
  // Optional parts of dependencies that are not installed.
  external: ["pg-native", "cloudflare:sockets", "msgpackr-extract", "bufferutil", "utf-8-validate"],
  banner: {
    js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);'
  }
}

/** Beside each other: what only the command line needs is a chunk that the service does not load. */
const bundles = [{ entryPoints: { svc: "src/runtime/Main.ts" }, splitting: true, chunkNames: "chunks/[name]-[hash]" }]
if (existsSync("src/runtime/sandbox/runner/Runner.ts")) {
  bundles.push({ entryPoints: { runner: "src/runtime/sandbox/runner/Runner.ts" } })
}
const files = (await Promise.all(bundles.map((bundle) => build({ ...common, ...bundle, outdir: "dist" })))).flatMap(
  (result) => result.outputFiles
)

/** Under its name a file is always whole, also for a program that starts meanwhile. */
const place = (path, write) => {
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  write(draft)
  renameSync(draft, path)
}

const wasm = "node_modules/@jitl/quickjs-ng-wasmfile-release-sync/dist"
for (const name of existsSync(wasm) ? readdirSync(wasm).filter((name) => name.endsWith(".wasm")) : []) {
  place("dist/quickjs.wasm", (draft) => copyFileSync(join(wasm, name), draft))
}
// The chunks first: the entry names them.
for (const file of files.toSorted(
  (a, b) => Number(b.path.includes("/chunks/")) - Number(a.path.includes("/chunks/"))
)) {
  place(file.path, (draft) => writeFileSync(draft, file.contents))
}

const identity = await build({
  ...common,
  entryPoints: ["src/runtime/sandbox/runner/Identity.ts"],
  sourcemap: false,
  banner: {}
})
const [{ text: identityText }] = identity.outputFiles
const { engineIdentity, protocolVersion } = await import(
  `data:text/javascript;base64,${Buffer.from(identityText).toString("base64")}`
)
const engineWasm = readFileSync("dist/quickjs.wasm")
keepEngine(`dist/engines/v${protocolVersion}`, engineIdentity(engineWasm), {
  "runner.js": readFileSync("dist/runner.js"),
  "quickjs.wasm": engineWasm
})

const current = new Set(files.map((file) => basename(file.path)))
for (const name of existsSync("dist/chunks") ? readdirSync("dist/chunks") : []) {
  // A program that runs may still load a chunk of the bundle before.
  if (!current.has(name) && Date.now() - statSync(join("dist/chunks", name)).mtimeMs > 86_400_000) {
    rmSync(join("dist/chunks", name))
  }
}
// What changed while it was built is built next time.
utimesSync(marker, startedAt, startedAt)
console.log(`dist/ is built in ${Math.round(performance.now() - started)} ms`)
