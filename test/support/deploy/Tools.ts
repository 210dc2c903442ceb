/**
 * `docker` and `kubectl` for the commands of a guide: programs of these names that hand their words to the test, which does without
 * an engine and a cluster what the words mean. A word that it does not know fails the command.
 */
import * as fs from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as path from "node:path"

/** Does what the words mean in a directory; returns the output, or throws with what is wrong. */
export type Tool = (words: ReadonlyArray<string>, directory: string) => Promise<string>

const client = `const [, , port, ...words] = process.argv
const answer = await fetch("http://127.0.0.1:" + port, { method: "POST", body: JSON.stringify({ words, directory: process.cwd() }) })
const stream = answer.ok ? process.stdout : process.stderr
stream.write(await answer.text(), () => process.exit(answer.ok ? 0 : 1))
`

/** Makes the programs in a folder, to be put in front of PATH. */
export const makeTools = async (folder: string, tools: Readonly<Record<string, Tool>>) => {
  const server = createServer((request, response) => {
    let body = ""
    request
      .setEncoding("utf8")
      .on("data", (part) => (body += part))
      .on("end", () => {
        const asked: { readonly words: ReadonlyArray<string>; readonly directory: string } = JSON.parse(body)
        const [name = "", ...words] = asked.words
        const done = tools[name]?.(words, asked.directory) ?? Promise.reject(new Error(`there is no ${name}`))
        done.then(
          (output) => response.end(output),
          (cause: unknown) => response.writeHead(500).end(`${name} ${words.join(" ")}: ${String(cause)}\n`)
        )
      })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(path.join(folder, "client.mjs"), client)
  for (const name of Object.keys(tools))
    fs.writeFileSync(
      path.join(folder, name),
      `#!/bin/sh\nexec ${process.execPath} ${folder}/client.mjs ${port} ${name} "$@"\n`,
      { mode: 0o755 }
    )
  return {
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
