/** One row of the list of parsers: a function of `src` that reads what came from outside, and its worst inputs. */

export interface Parser {
  /** The top-level declarations of `src` that the row measures, as `file#name`. */
  readonly covers: ReadonlyArray<string>
  /** The largest accepted input, in the unit of its generators. */
  readonly most: number
  /** Measures every generator's input of a size. */
  readonly cases: ReadonlyArray<readonly [name: string, prepare: (size: number) => () => unknown]>
}

/** A row: what a function does with each of its worst inputs. */
export const parser = <A>(
  covers: string | ReadonlyArray<string>,
  most: number,
  run: (input: A) => unknown,
  worst: { readonly [name: string]: (size: number) => A }
): Parser => ({
  covers: typeof covers === "string" ? [covers] : covers,
  most,
  cases: Object.entries(worst).map(([name, make]) => [
    name,
    (size) => {
      const input = make(size)
      return () => run(input)
    }
  ])
})

/** A text of the size that repeats a part. */
export const repeated = (part: string) => (size: number) => part.repeat(Math.ceil(size / part.length)).slice(0, size)
