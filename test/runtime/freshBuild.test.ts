/** `npm start` and `bin/svc` build what has changed, and start what has not without another process. */
import { afterEach, assert, beforeEach, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const scripts = fileURLToPath(new URL("../../scripts", import.meta.url))
const launcher = fileURLToPath(new URL("../../bin/svc", import.meta.url))
let root = ""

/** A project whose build notes that it ran, and makes a program that prints its own process id and arguments. */
beforeEach(() => {
  root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "svc-fresh-")))
  fs.mkdirSync(path.join(root, "scripts"))
  fs.mkdirSync(path.join(root, "src"))
  fs.mkdirSync(path.join(root, "dist"))
  for (const name of ["run.mjs", "freshness.mjs"])
    fs.copyFileSync(path.join(scripts, name), path.join(root, "scripts", name))
  fs.writeFileSync(path.join(root, "src", "Main.ts"), "")
  fs.writeFileSync(
    path.join(root, "scripts", "build.mjs"),
    `import { appendFileSync, writeFileSync } from "node:fs"
     import { marker } from "./freshness.mjs"
     appendFileSync(marker + ".builds", "built\\n")
     writeFileSync(marker, 'console.log(process.pid, process.argv.slice(1).join(" "))')`
  )
})
afterEach(() => fs.rmSync(root, { recursive: true, force: true }))

const marker = () => path.join(root, "dist", "svc.js")
const builds = () => fs.readFileSync(`${marker()}.builds`, "utf8").trim().split("\n").length
/** Moves the time of a file away from now: file systems differ in how finely they tell it. */
const touch = (file: string, seconds: number) => {
  const at = new Date(Date.now() + seconds * 1000)
  fs.utimesSync(file, at, at)
}
const run = () => {
  const { pid, status, stderr, stdout } = spawnSync(
    process.execPath,
    [path.join(root, "scripts", "run.mjs"), "start"],
    {
      encoding: "utf8"
    }
  )
  assert.strictEqual(status, 0, stderr)
  assert.strictEqual(stdout, `${pid} ${marker()} start\n`, "the program runs in the process that was started")
  return stderr
}

it("the first start builds, the next does not, and one after a change does", () => {
  assert.match(run(), /^svc is built from its sources[^\n]*\n$/, "one line before it builds")
  assert.strictEqual(builds(), 1)
  touch(marker(), 60)
  assert.strictEqual(run(), "")
  assert.strictEqual(builds(), 1)
  touch(path.join(root, "src", "Main.ts"), 120)
  run()
  assert.strictEqual(builds(), 2)
  touch(marker(), 180)
  // A source that was removed changes its folder only.
  fs.rmSync(path.join(root, "src", "Main.ts"))
  touch(path.join(root, "src"), 240)
  run()
  assert.strictEqual(builds(), 3)
})

it("a build that fails ends the start with its status", () => {
  fs.writeFileSync(path.join(root, "scripts", "build.mjs"), "process.exit(3)")
  const { status } = spawnSync(process.execPath, [path.join(root, "scripts", "run.mjs"), "start"])
  assert.strictEqual(status, 3)
})

it.each(["bin/svc", "a link to bin/svc"])("%s builds a program that is stale, and becomes it", (form) => {
  fs.mkdirSync(path.join(root, "bin"))
  const copied = path.join(root, "bin", "svc")
  fs.copyFileSync(launcher, copied)
  const [command, directory] = form === "bin/svc" ? ["./svc", "bin"] : ["linked/svc", "."]
  fs.mkdirSync(path.join(root, "linked"))
  fs.symlinkSync(copied, path.join(root, "linked", "svc"))
  const { pid, status, stderr, stdout } = spawnSync(command, ["start", "a b"], {
    cwd: path.join(root, directory),
    encoding: "utf8"
  })
  assert.strictEqual(status, 0, stderr)
  assert.strictEqual(stdout, `${pid} ${marker()} start a b\n`, "the program runs in the process that was started")
  assert.strictEqual(builds(), 1)
})

it("bin/svc gives Node the options of `npm start`", () => {
  const { scripts: commands } = JSON.parse(fs.readFileSync(path.join(launcher, "../../package.json"), "utf8"))
  const optionsOf = (text: string) => /\bexec node (.*?) \S*scripts\/run\.mjs/.exec(text)?.[1]
  const options = optionsOf(fs.readFileSync(launcher, "utf8"))
  assert.isDefined(options)
  assert.deepStrictEqual([optionsOf(commands.start), optionsOf(commands.svc)], [options, options])
})
