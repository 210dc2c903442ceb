import { assert, it } from "@effect/vitest"
import { buildSync } from "esbuild"
import { spawn } from "node:child_process"
import * as path from "node:path"
import { makeDataDirectory } from "../support/Service.js"

const script = `import { Effect, Option, Redacted } from "effect"
import { resolveSecrets } from "./src/runtime/vault/InstallationSecrets.ts"
const [dataDir, at] = process.argv.slice(2)
while (Date.now() < Number(at));
const { keyPepper, masterKeys } = await Effect.runPromise(
  resolveSecrets({ dataDir, keysDir: Option.none(), masterKeys: Option.none(), keyPepper: Option.none() }, { create: true })
)
console.log(Redacted.value(masterKeys).active, Redacted.value(keyPepper))`

it("processes that create the installation's keys at the same time all get the same ones", async () => {
  const { directory, dataDir, remove } = makeDataDirectory()
  const bundle = path.join(directory, "keys.mjs")
  buildSync({
    stdin: { contents: script, resolveDir: process.cwd(), loader: "ts" },
    outfile: bundle,
    bundle: true,
    platform: "node",
    format: "esm"
  })
  const at = Date.now() + 2_000
  const said = await Promise.all(
    Array.from(
      { length: 6 },
      () =>
        new Promise<string>((resolve) => {
          const child = spawn(process.execPath, [bundle, dataDir, String(at)], { stdio: ["ignore", "pipe", "pipe"] })
          let text = ""
          for (const stream of [child.stdout, child.stderr])
            stream.setEncoding("utf8").on("data", (more) => (text += more))
          child.once("close", () => resolve(text))
        })
    )
  )
  remove()
  assert.lengthOf(new Set(said), 1, said.join("\n"))
  assert.match(said[0] ?? "", /^k\d{8}-\w{4} \S{40,}\n$/)
})
