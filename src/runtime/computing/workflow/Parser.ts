/**
 * The parser acorn with an index over its lists of declared names. Without it acorn searches an array for every
 * declaration, which takes seconds for the tens of thousands of declarations that one source may have.
 */
import { Parser } from "acorn"

export const ModuleParser: typeof Parser = Parser.extend((Base) => {
  class IndexedParser extends Base {}
  const enterScope: unknown = Reflect.get(Base.prototype, "enterScope")
  if (typeof enterScope !== "function")
    throw new Error("this version of acorn has no enterScope: install the version that package.json pins")
  Object.defineProperty(IndexedParser.prototype, "enterScope", {
    value(this: { readonly scopeStack: ReadonlyArray<Scope> }, flags: number) {
      Reflect.apply(enterScope, this, [flags])
      const scope = this.scopeStack.at(-1)
      if (scope === undefined) return
      scope.var = new NameList()
      scope.lexical = new NameList()
      scope.functions = new NameList()
    }
  })
  return IndexedParser
})

/** What acorn keeps for each scope. It uses only `push`, `indexOf` and the first element of the lists. */
interface Scope {
  var: Array<string>
  lexical: Array<string>
  functions: Array<string>
}

class NameList extends Array<string> {
  private index: Set<string> | undefined

  override push(name: string): number {
    const length = super.push(name)
    if (this.index !== undefined) this.index.add(name)
    else if (length === 32) this.index = new Set(this)
    return length
  }

  /** 0 if the list contains the name, else -1: acorn does not use the index. */
  override indexOf(name: string): number {
    if (this.index === undefined) return super.indexOf(name)
    return this.index.has(name) ? 0 : -1
  }
}
