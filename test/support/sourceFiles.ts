/** The program's sources, for tests that look through them. */
import { readdirSync, readFileSync } from "node:fs"
import * as path from "node:path"

/** The TypeScript files below a directory of the repository. */
export const sourceFiles = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => path.join(entry.parentPath, entry.name))

/** The text of a file without its comments. */
export const codeOf = (file: string): string =>
  readFileSync(file, "utf8")
    .replaceAll(/\/\*[^]*?\*\//g, "")
    .replaceAll(/(?<!:)\/\/.*$/gm, "")
