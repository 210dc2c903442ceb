// Has V8 compile the program, and keeps what came of it for the next start.
import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import { Script } from "node:vm"

const [, , from, to] = process.argv
const url = pathToFileURL(from)
const script = new Script(readFileSync(url, "latin1"), { filename: url.href })
const program = { exports: {} }
script.runInThisContext()(program.exports, createRequire(url), program, url.href)
// Functions that have run are compiled: the modules of every command, as far as loading them goes.
await program.exports.load()
const draft = `${to}.${process.pid}`
writeFileSync(draft, script.createCachedData())
renameSync(draft, to)
process.exit(0)
