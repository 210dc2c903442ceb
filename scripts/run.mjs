// `npm start` and `npm run svc`: builds the program if a source has changed since, and runs it in this process, so that a
// start of a program that is built costs one Node.
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { isFresh, marker, root } from "./freshness.mjs"

if (!isFresh()) {
  // Beside the output of a command, which may be read by another program.
  process.stderr.write("svc is built from its sources, which takes a few seconds; the next start does not.\n")
  const options = { stdio: ["inherit", process.stderr.fd, "inherit"] }
  const { status } = spawnSync(process.execPath, [join(root, "scripts", "build.mjs")], options)
  if (status !== 0) process.exit(status ?? 1)
}
process.argv[1] = marker
await import(pathToFileURL(marker).href)
