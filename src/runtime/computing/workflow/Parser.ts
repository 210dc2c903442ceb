/**
 * acorn, with its lists of declared names indexed: it looks a name up in a plain array for every declaration, which
 * takes seconds for the tens of thousands of declarations that fit into one source.
 */
import { Parser } from "acorn"

export const ModuleParser: typeof Parser = Parser.extend((Base) => {
  class Indexed extends Base {}
  const enterScope: unknown = Reflect.get(Base.prototype, "enterScope")
  if (typeof enterScope !== "function") throw new Error("this acorn has no enterScope: its version is pinned for that")
  Object.defineProperty(Indexed.prototype, "enterScope", {
    value(this: { readonly scopeStack: ReadonlyArray<Scope> }, flags: number) {
      Reflect.apply(enterScope, this, [flags])
      const scope = this.scopeStack.at(-1)
      if (scope === undefined) return
      scope.var = new NameList()
      scope.lexical = new NameList()
      scope.functions = new NameList()
    }
  })
  return Indexed
})

/** What acorn keeps per scope; it only pushes, asks `indexOf` and reads the first name. */
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

  /** Tells only whether the name is there: 0 or -1. */
  override indexOf(name: string): number {
    if (this.index === undefined) return super.indexOf(name)
    return this.index.has(name) ? 0 : -1
  }
}
