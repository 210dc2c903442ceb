// Bundles the program into dist/. Does nothing when no source is newer than the bundle, so that whatever needs the bundle
// may call it every time.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import { gzipSync } from "node:zlib"
import { keepEngine } from "./engines.mjs"
import { isFresh, marker, root } from "./freshness.mjs"

process.chdir(root)
if (isFresh()) process.exit(0)

/** One sentence instead of a stack trace where the files cannot be written. */
process.on("uncaughtException", (error) => {
  const refused = ["EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT"].includes(error?.code)
  const what = `dist/ cannot be written: ${error.message}. Build as the user who owns it, or start the built program: node dist/svc.js start`
  process.stderr.write(`${refused ? what : (error?.stack ?? error)}\n`)
  process.exit(1)
})
mkdirSync("dist", { recursive: true })
accessSync("dist", constants.W_OK)

const started = performance.now()
const startedAt = new Date()
const { build } = await import("esbuild")
const { consoleFiles } = await import("./console.mjs")
const { panelFiles } = await import("./panel.mjs")

/** A page of 3 MB in the library, which only `/docs` shows: it lies beside the program until somebody looks at it. */
const page = "page.txt"
const { javascript } = await import("../node_modules/@effect/platform/dist/esm/internal/httpApiScalar.js")
const pageApart = {
  name: "page-apart",
  setup: ({ onLoad }) => {
    onLoad({ filter: /@effect\/platform\/dist\/esm\/internal\/httpApiScalar\.js$/ }, () => ({
      contents: `import { readFileSync } from "node:fs"
        export const javascript = readFileSync(new URL("${page}", import.meta.url), "utf8")`
    }))
    onLoad({ filter: /@effect\/platform\/dist\/esm\/index\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(/^export \* as HttpApi(?:Scalar|Swagger) .*$/gm, "")
    }))
  }
}

/**
 * What a start would wait for and never uses. Two libraries look at Node's own `Response` and `Headers` as they load, which
 * takes Node 25 ms; the schemas bring along a library for tests, and the command line has parsers for configuration files.
 */
const unused = [
  [/[/\\]pg[/\\]lib[/\\]stream\.js$/, "function isCloudflareRuntime() {", "$& return false"],
  [/[/\\]undici[/\\]lib[/\\]web[/\\]cookies[/\\]index\.js$/, "[Headers, globalThis.Headers]", "[Headers]"],
  [/[/\\]effect[/\\]dist[/\\]esm[/\\]FastCheck\.js$/, 'export * from "fast-check";', "export {}"],
  [
    /[/\\]@effect[/\\]cli[/\\]dist[/\\]esm[/\\]internal[/\\]files\.js$/,
    'import * as Ini from "ini";\nimport * as Toml from "toml";\nimport * as Yaml from "yaml";',
    "const [Ini, Toml, Yaml] = [{}, {}, {}];"
  ]
]
const withoutUnused = {
  name: "without-unused",
  setup: ({ onLoad }) => {
    for (const [filter, before, after] of unused) {
      onLoad({ filter }, ({ path }) => {
        const contents = readFileSync(path, "utf8")
        if (!contents.includes(before)) throw new Error(`${path} has no ${before}: look at it again`)
        return { contents: contents.replace(before, after) }
      })
    }
  }
}

const common = {
  bundle: true,
  platform: "node",
  target: "node20",
  sourcemap: "linked",
  sourcesContent: false,
  minifySyntax: true,
  legalComments: "none",
  logLevel: "warning",
  write: false,
  // The guest's part of the sandbox.
  loader: { ".guest.js": "text" },
  // Optional parts of dependencies that are not installed.
  external: ["pg-native", "cloudflare:sockets", "msgpackr-extract", "bufferutil", "utf-8-validate"]
}
const esm = {
  format: "esm",
  banner: {
    js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);'
  }
}

/** Under its name a file is always whole, also for a program that starts meanwhile. */
const place = (path, contents) => {
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, contents)
  renameSync(draft, path)
}
const textOf = ({ outputFiles }, ending) => outputFiles.find(({ path }) => path.endsWith(ending)).contents

// --- The program: one script, and what V8 made of it, which saves a start the compiling ---

const bundle = await build({
  ...common,
  plugins: [pageApart, withoutUnused],
  // The schemas still name members of the library for tests, in functions that the program never calls.
  logOverride: { "import-is-undefined": "silent" },
  entryPoints: ["src/runtime/cli/Main.ts"],
  outfile: "dist/program.js",
  // Without white space and comments a start reads a third less. Names stay, and lines are short, for stack traces.
  minifyWhitespace: true,
  lineLimit: 160,
  format: "cjs",
  define: { "import.meta.url": "moduleUrl" },
  banner: { js: "(function (exports, require, module, moduleUrl) {" },
  footer: { js: "})" }
})
/** As escapes, which mean the same in texts, templates and comments. */
const escaped = (character) =>
  Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
// Pure ASCII, which Node reads in a third of the time and holds in half the memory.
const source = Buffer.from(
  Buffer.from(textOf(bundle, ".js"))
    .toString()
    .replaceAll(/\P{ASCII}/gu, (character) => escaped(character).join(""))
)
const name = `program-${createHash("sha256").update(source).digest("hex").slice(0, 16)}`
place(`dist/${page}`, javascript)
place(`dist/${name}.js`, source.toString().replace("program.js.map", `${name}.js.map`))
place(`dist/${name}.js.map`, textOf(bundle, ".js.map"))
const compiled = spawnSync(process.execPath, ["scripts/compile.mjs", `dist/${name}.js`, `dist/${name}.v8`], {
  stdio: "inherit"
})
if (compiled.status !== 0) process.exit(1)
// --- The sandbox's engine ---

const runner = await build({
  ...common,
  ...esm,
  entryPoints: ["src/runtime/sandbox/runner/Runner.ts"],
  outfile: "dist/runner.js"
})
place("dist/runner.js.map", textOf(runner, ".js.map"))
place("dist/runner.js", textOf(runner, ".js"))
const computing = await build({
  ...common,
  ...esm,
  entryPoints: ["src/runtime/computing/worker/Worker.ts"],
  outfile: "dist/computing.js"
})
place("dist/computing.js.map", textOf(computing, ".js.map"))
place("dist/computing.js", textOf(computing, ".js"))
// Read by a service whose people sign in at an OpenID provider.
const openid = await build({
  ...common,
  entryPoints: ["src/runtime/oauth/OpenidClient.ts"],
  outfile: "dist/openid.cjs",
  format: "cjs",
  minifyWhitespace: true,
  sourcemap: false
})
place("dist/openid.cjs", textOf(openid, ".cjs"))
// Read when the first agent asks a tool gateway.
const mcp = await build({
  ...common,
  entryPoints: ["src/runtime/mcp/McpLibrary.ts"],
  outfile: "dist/mcp.cjs",
  format: "cjs",
  minifyWhitespace: true,
  sourcemap: false
})
place("dist/mcp.cjs", textOf(mcp, ".cjs"))
// The client of the typed RPC, which other services import from the package; they install what it needs.
const rpcClient = await build({
  ...common,
  entryPoints: ["src/http/rpc/client/Package.ts"],
  outfile: "dist/rpc.js",
  format: "esm",
  packages: "external",
  sourcemap: false
})
place("dist/rpc.js", textOf(rpcClient, ".js"))
const wasm = "node_modules/@jitl/quickjs-ng-wasmfile-release-sync/dist"
for (const found of readdirSync(wasm).filter((one) => one.endsWith(".wasm"))) {
  place("dist/quickjs.wasm", readFileSync(join(wasm, found)))
}
const identity = await build({
  ...common,
  entryPoints: ["src/runtime/sandbox/runner/Identity.ts"],
  format: "esm",
  sourcemap: false
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

// --- The console and the panel, as the documents lie beside the program: plain and compressed ---

const placeFiles = (name, files) => {
  const parts = files.map(({ bytes }) => [bytes, gzipSync(bytes, { level: 9 })])
  place(`dist/${name}.bin`, Buffer.concat(parts.flat()))
  place(
    `dist/${name}.json`,
    JSON.stringify(
      files.map(({ headers, path }, at) => ({ path, headers, sizes: parts[at].map(({ length }) => length) }))
    )
  )
}
const { files, metafile } = await consoleFiles()
placeFiles("console", files)
// What the sizes are made of, for `npm run verify`.
place("dist/console.meta.json", JSON.stringify(metafile))
placeFiles("panel", (await panelFiles()).files)

// --- The command, last: it names the others ---

place(marker, readFileSync("scripts/launch.mjs", "utf8").replaceAll("PROGRAM", name))
for (const old of readdirSync("dist").filter((one) => one.startsWith("program-") && !one.startsWith(name))) {
  // Whoever read the command before may be about to read what it names.
  if (Date.now() - statSync(join("dist", old)).mtimeMs > 3_600_000) rmSync(join("dist", old), { force: true })
}
// What changed while it was built is built next time.
utimesSync(marker, startedAt, startedAt)
console.log(`dist/ is built in ${Math.round(performance.now() - started)} ms`)
