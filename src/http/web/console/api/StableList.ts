/**
 * A list whose rows stay where they are while new records arrive: it shows what there was when it was opened, reads that again
 * as it changes, and tells how many newer records there are.
 */
import { useRef, useState } from "react"
import { type ListPath, type ListFilters, type ListRow, useList } from "./Reads.js"

/** Newer records that are counted at most. */
const countedAtMost = 50

/** `every`: milliseconds after which newer records are looked for. The rows are the newest first, and have `createdAt`. */
export const useStableList = <P extends ListPath>(path: P, query: ListFilters<P>, every: number | undefined) => {
  const [opened, setOpened] = useState(0)
  /** The newest record of each opening: what is read again of it ends there. */
  const ends = useRef(new Map<string, string>())
  const key = `${opened} ${JSON.stringify(query)}`
  const end = ends.current.get(key)
  const list = useList(path, query, { createdBefore: () => ends.current.get(key), opened })
  const newest = (list.rows[0] as (ListRow<P> & { readonly createdAt?: string }) | undefined)?.createdAt
  if (end === undefined && newest !== undefined && !list.isPlaceholder) ends.current.set(key, justAfter(newest))
  const newer = useList(path, { ...query, ...(end === undefined ? {} : { created_after: end }) } as ListFilters<P>, {
    enabled: end !== undefined,
    ...(every === undefined ? {} : { every }),
    pageSize: countedAtMost
  })
  const count = end === undefined ? 0 : newer.rows.length
  return {
    ...list,
    /** As words, such as `50 or more`; absent: none. */
    newer: count === 0 ? undefined : newer.hasMore ? `${count} or more` : String(count),
    showNewer: () => setOpened((before) => before + 1)
  }
}

const justAfter = (time: string): string => new Date(Date.parse(time) + 1).toISOString()
