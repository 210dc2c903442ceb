/** Reads lists of the API page by page. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { asPanelError, type PanelError, sessionEnded } from "./Errors.js"

interface ListPage<Row> {
  readonly data: ReadonlyArray<Row>
  readonly page: { readonly nextCursor: string | null }
}

/** What was read of a list so far. */
export interface ListedRecords<Row> {
  readonly rows: ReadonlyArray<Row>
  /** Whether nothing was read yet. */
  readonly isLoading: boolean
  readonly hasMore: boolean
  readonly error: PanelError | null
  readonly more: () => void
  readonly again: () => void
}

const none = { rows: [], next: undefined, isLoading: true, error: null } as const

interface Listed<Row> {
  readonly rows: ReadonlyArray<Row>
  /** Of the next page; `null` after the last. */
  readonly next: string | null | undefined
  readonly isLoading: boolean
  readonly error: PanelError | null
}

/** `load` reads a page; when it is another function, the list is read from its beginning. */
export const useListed = <Row>(load: (cursor: string | undefined) => Promise<ListPage<Row>>): ListedRecords<Row> => {
  const [listed, setListed] = useState<Listed<Row>>(none)
  const asked = useRef(0)

  const readPage = useCallback(
    async (cursor: string | undefined, before: ReadonlyArray<Row>) => {
      const number = (asked.current += 1)
      const isLast = () => asked.current === number
      try {
        const { data, page } = await load(cursor)
        if (isLast()) setListed({ rows: [...before, ...data], next: page.nextCursor, isLoading: false, error: null })
      } catch (cause) {
        const error = asPanelError(cause)
        // The panel says that its session is over, and reads again when it goes on.
        if (isLast() && error.code !== sessionEnded)
          setListed({ rows: before, next: cursor ?? null, isLoading: false, error })
      }
    },
    [load]
  )
  useEffect(() => void readPage(undefined, []), [readPage])

  const { error, isLoading, next, rows } = listed
  return {
    rows,
    isLoading,
    hasMore: typeof next === "string",
    error,
    more: () => void readPage(next ?? undefined, rows),
    again: () => void readPage(next ?? undefined, rows)
  }
}
