/** Paths of field maps: data paths in which `[*]` stands for every item of a list. Contract: connector definition. */
import { memoize } from "../RecentMap.js"
import { type Parsed, type Path, scanPath } from "../expression/Path.js"

/** The paths between the lists: `lines[*].sku` is `[["lines"], ["sku"]]`, and `tags[*]` is `[["tags"], []]`. */
export type ItemPath = ReadonlyArray<Path>

/** The most lists in one path. */
const maxLists = 4

const scan = (text: string): Parsed<ItemPath> => {
  const parts: Array<Path> = []
  for (const [index, part] of text.trim().split("[*]").entries()) {
    if (index > 0 && part === "") {
      parts.push([])
      continue
    }
    if (index > 0 && !/^[.[]/.test(part)) return { mistake: `cannot be read from "${part.slice(0, 20)}" on` }
    const path = scanPath(index > 0 && part.startsWith(".") ? part.slice(1) : part)
    if ("mistake" in path) return path
    parts.push(path.value)
  }
  return parts.length - 1 > maxLists ? { mistake: `has more than ${maxLists} lists ([*])` } : { value: parts }
}

/** Reads a path, or says why it cannot be read. */
export const scanItemPath: (text: string) => Parsed<ItemPath> = memoize(scan)

/** The number of lists on the way. */
export const listCount = (path: ItemPath): number => path.length - 1

/** The name of the first member. */
export const firstMember = (path: ItemPath): string => String(path[0]?.[0] ?? "")

/** The path of a pair of an item, seen from the record. */
export const belowItem = (list: string, path: string): string =>
  path === "$" ? `${list}[*]` : `${list}[*]${path.startsWith("[") ? "" : "."}${path.replace(/^\$\.?/, "")}`
