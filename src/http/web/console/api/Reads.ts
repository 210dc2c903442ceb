/** Hooks that read from the API, keep what they read, and read it again when it may have changed. */
import {
  type InfiniteData,
  keepPreviousData,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient
} from "@tanstack/react-query"
import { useCallback } from "react"
import { useLocation } from "wouter"
import { type ApiError, read, type ReadBody, type ReadInit, type ReadPath } from "./Client.js"

interface ReadOptions {
  readonly enabled?: boolean
  /** Milliseconds after which it is read again while the page is shown. */
  readonly every?: number
}

interface OneReadOptions<Body> extends Omit<ReadOptions, "every"> {
  /** As of lists; or of what was read last. */
  readonly every?: number | ((last: Body | undefined) => number)
}

/** Reads one thing. `refetch` reads it again. */
export const useRead = <P extends ReadPath>(
  path: P,
  init?: ReadInit<P>,
  { enabled = true, every }: OneReadOptions<ReadBody<P>> = {}
) =>
  useQuery<ReadBody<P>, ApiError>({
    queryKey: [path, init ?? {}],
    queryFn: ({ signal }) => read(path, init, signal),
    enabled,
    ...(every === undefined
      ? {}
      : { refetchInterval: typeof every === "number" ? every : ({ state }) => every(state.data) })
  })

/** Paths of lists, which are read page by page. */
export type ListPath = {
  [P in ReadPath]: ReadBody<P> extends { data: ReadonlyArray<unknown>; page: { nextCursor: string | null } } ? P : never
}[ReadPath]
/** One row of a list. */
export type ListRow<P extends ListPath> = ReadBody<P> extends { data: ReadonlyArray<infer One> } ? One : never
type QueryOf<P extends ListPath> = ReadInit<P> extends { params?: { query?: infer Query } } ? NonNullable<Query> : never
/** The filters of a list. */
export type ListFilters<P extends ListPath> = {
  readonly [name in Exclude<keyof QueryOf<P>, "cursor" | "page_size">]?: string | number | boolean | undefined
}
interface ListOptions extends ReadOptions {
  readonly pageSize?: number
  /** Values of the path, as `eid`. */
  readonly path?: Readonly<Record<string, string>>
  /** Records of this time and later are left out; asked as each page is read. */
  readonly createdBefore?: () => string | undefined
  /** Another number reads the list anew. */
  readonly opened?: number
}

interface AnyPage<One> {
  readonly data: ReadonlyArray<One>
  readonly page: { readonly nextCursor: string | null }
}

/** Reads a list page by page; `rows` are those read so far, `more` reads the next page. */
export const useList = <P extends ListPath>(
  path: P,
  query?: ListFilters<P>,
  { createdBefore, enabled = true, every, opened = 0, pageSize = 50, path: values }: ListOptions = {}
) => {
  const found = useInfiniteQuery<
    AnyPage<ListRow<P>>,
    ApiError,
    InfiniteData<AnyPage<ListRow<P>>>,
    ReadonlyArray<unknown>,
    string
  >({
    queryKey: [path, values ?? {}, query ?? {}, pageSize, opened],
    queryFn: ({ pageParam, signal }) => {
      const before = createdBefore?.()
      const bounds = before === undefined ? {} : { created_before: before }
      const asked = { ...query, ...bounds, page_size: pageSize, ...(pageParam === "" ? {} : { cursor: pageParam }) }
      const params = { ...(values === undefined ? {} : { path: values }), query: asked }
      return read(path, { params }, signal) as Promise<AnyPage<ListRow<P>>>
    },
    initialPageParam: "",
    getNextPageParam: ({ page }) => page.nextCursor,
    placeholderData: keepPreviousData,
    enabled,
    ...(every === undefined ? {} : { refetchInterval: every })
  })
  const { data, error, fetchNextPage, hasNextPage, isFetchingNextPage, isPending, isPlaceholderData, refetch } = found
  return {
    rows: data?.pages.flatMap((page) => page.data) ?? [],
    error,
    isPending,
    /** The rows are those of the filters before. */
    isPlaceholder: isPlaceholderData,
    hasMore: hasNextPage,
    isReadingMore: isFetchingNextPage,
    more: fetchNextPage,
    refetch
  }
}

/**
 * A change. `run` starts it; when it has succeeded, everything under the paths of `changes` is read again, then `done` is
 * called. `error` is its last failure.
 */
export const useChange = <Input = void, Output = unknown>(
  change: (input: Input) => Promise<Output>,
  {
    changes = [],
    done
  }: { readonly changes?: ReadonlyArray<ReadPath>; readonly done?: (output: Output, input: Input) => void } = {}
) => {
  const readAgain = useReadAgain()
  const { error, isPending, mutate, reset } = useMutation<Output, ApiError, Input>({
    mutationFn: change,
    onSuccess: async (output, input) => {
      await readAgain(changes)
      done?.(output, input)
    }
  })
  return { run: mutate, isRunning: isPending, error, reset }
}

/**
 * The removal of the record that a page shows. When it has succeeded, the page `to` of the list that it was in is shown, and
 * the list is read again; the record itself is not, since it is gone. `done` is called last.
 */
export const useRemoval = (
  remove: () => Promise<unknown>,
  { done, list, to }: { readonly list: ListPath; readonly to: string; readonly done?: () => void }
) => {
  const [, go] = useLocation()
  const readAgain = useReadAgain()
  return useChange(remove, {
    done: () => {
      go(to)
      void readAgain([list])
      done?.()
    }
  })
}

/** Marks what was read under these paths as old: what is shown of it is read again at once. */
export const useReadAgain = () => {
  const queries = useQueryClient()
  return useCallback(
    async (paths: ReadonlyArray<ReadPath>) => {
      await Promise.all(paths.map((path) => queries.invalidateQueries({ queryKey: [path] })))
    },
    [queries]
  )
}
