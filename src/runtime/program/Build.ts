/** Which build of the program this is: all nodes of a cluster are of one. */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** Another one for each build: a hash of the program's file. */
export const build = (): string =>
  createHash("sha256")
    .update(readFileSync(fileURLToPath(import.meta.url)))
    .digest("hex")
    .slice(0, 16)
