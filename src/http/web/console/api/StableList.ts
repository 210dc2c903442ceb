/**
 * A list whose rows stay where they are while new records arrive: it shows what there was when it was opened, reads that again
 * as it changes, and tells how many newer records there are.
 */
import { useEffect, useRef, useState } from "react"
import { type ListPath, type ListFilters, type ListRow, useList } from "./Reads.js"

/** Newer records that are counted at most. */
const countedAtMost = 50

/** `every`: milliseconds after which newer records are looked for. The rows are the newest first, and have `createdAt` or `receivedAt`. */
export const useStableList = <P extends ListPath>(path: P, query: ListFilters<P>, every: number | undefined) => {
  const [opened, setOpened] = useState(0)
  const key = `${opened} ${JSON.stringify(query)}`
  /** Just after the newest record of this opening: what is read again of it ends there. */
  const [found, setFound] = useState<{ readonly key: string; readonly end: string }>()
  const end = found?.key === key ? found.end : undefined
  const latest = useRef(end)
  latest.current = end
  const list = useList(path, query, { createdBefore: () => latest.current, opened })
  const first = list.rows[0] as (ListRow<P> & { readonly createdAt?: string; readonly receivedAt?: string }) | undefined
  const newest = list.isPlaceholder ? undefined : (first?.createdAt ?? first?.receivedAt)
  useEffect(() => {
    if (end === undefined && newest !== undefined) setFound({ key, end: justAfter(newest) })
  }, [end, key, newest])
  /** The opening of which there are as many newer records as are counted: they are looked for no more. */
  const [counted, setCounted] = useState<string>()
  const newer = useList(path, { ...query, ...(end === undefined ? {} : { created_after: end }) } as ListFilters<P>, {
    enabled: end !== undefined && counted !== key,
    ...(every === undefined ? {} : { every }),
    pageSize: countedAtMost
  })
  const isCounted = end !== undefined && newer.hasMore && !newer.isPlaceholder
  useEffect(() => {
    if (isCounted) setCounted(key)
  }, [isCounted, key])
  const count = end === undefined ? 0 : newer.rows.length
  return {
    ...list,
    /** As words, such as `50 or more`; absent: none. */
    newer: count === 0 ? undefined : newer.hasMore ? `${count} or more` : String(count),
    showNewer: () => setOpened((before) => before + 1)
  }
}

const justAfter = (time: string): string => new Date(Date.parse(time) + 1).toISOString()
