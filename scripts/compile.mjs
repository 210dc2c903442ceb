// Compiles the program with V8 and writes the code cache, which makes the next start faster.
import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { pathToFileURL } from "node:url"
import { Script } from "node:vm"

const [, , from, to] = process.argv
const url = pathToFileURL(from)
const script = new Script(readFileSync(url, "latin1"), { filename: url.href })
const program = { exports: {} }
script.runInThisContext()(program.exports, createRequire(url), program, url.href)
// The cache contains functions that have run: loading the modules of every command runs their top-level code.
await program.exports.load()
const draft = `${to}.${process.pid}`
writeFileSync(draft, script.createCachedData())
renameSync(draft, to)
process.exit(0)
