/** Directories of an operator's choice are created, or refused in words, and never waited for. */
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { onTestFinished } from "vitest"
import { makeDirectories } from "../../src/runtime/process/Directories.js"
import { makeDirectory } from "../../src/runtime/process/OperatorError.js"

describe("a directory", () => {
  it("is created with its parents, and stays as it is if it exists", () => {
    const place = fs.mkdtempSync(path.join(os.tmpdir(), "svc-directories-"))
    onTestFinished(() => fs.rmSync(place, { recursive: true, force: true }))
    const target = path.join(place, "a", "b")
    makeDirectories(target, 0o700)
    makeDirectories(target)
    assert.strictEqual(fs.statSync(target).mode & 0o777, 0o700)
  })

  it.skipIf(process.platform !== "linux")("is refused where the file system creates none", () => {
    for (const directory of ["/proc/x", "/proc/x/y", "/proc/self/x", "/sys/x", "/dev/null", "/dev/null/x"]) {
      assert.throws(() => makeDirectory(directory), /cannot be made: .*Set SVC_DATA_DIR to a directory/)
    }
  })

  it("is created by this function everywhere", () => {
    const sources = fs.readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"))
    const others = sources.filter((name) =>
      /mkdir(Sync)?\([^)]*recursive/s.test(fs.readFileSync(`src/${name}`, "utf8"))
    )
    assert.deepStrictEqual(others, [])
  })
})
