/** Texts that the browser keeps until the service has them: one of each tab, so that tabs do not overwrite each other's. */

/** A text that was not saved when its tab was closed. */
export interface KeptText {
  readonly key: string
  readonly text: string
  /** The hash of the draft that it was made of. */
  readonly hash: string
  /** RFC 3339. */
  readonly at: string
}

/** What one tab keeps of one workflow. */
export interface KeptTexts {
  /** False if the browser has no space. */
  readonly put: (text: string, hash: string) => boolean
  readonly remove: () => boolean
}

const tab = crypto.getRandomValues(new Uint32Array(2)).join("-")
const lockOf = (name: string): string => `svc.tab.${name}`
// The lock tells other tabs that this one still has its texts. Only secure addresses have locks.
void (navigator.locks as LockManager | undefined)?.request(lockOf(tab), () => new Promise(() => undefined))

const prefixOf = (person: string, workflowId: string): string => `svc.draft.${person}.${workflowId}.`

export const keptTexts = (person: string, workflowId: string): KeptTexts => {
  const key = prefixOf(person, workflowId) + tab
  return {
    put: (text, hash) => {
      try {
        localStorage.setItem(key, JSON.stringify({ text, hash, at: new Date().toISOString() }))
        return true
      } catch {
        return false
      }
    },
    remove: () => {
      localStorage.removeItem(key)
      return true
    }
  }
}

/** Texts of tabs that are closed, newest first. */
export const lostTexts = async (person: string, workflowId: string): Promise<ReadonlyArray<KeptText>> => {
  const { held = [] } = (await (navigator.locks as LockManager | undefined)?.query()) ?? {}
  const open = new Set(held.map(({ name }) => name))
  const prefix = prefixOf(person, workflowId)
  const keys = Object.keys(localStorage).filter(
    (key) => key.startsWith(prefix) && !key.endsWith(tab) && !open.has(lockOf(key.slice(prefix.length)))
  )
  return keys.flatMap((key) => readKept(key)).toSorted((one, other) => other.at.localeCompare(one.at))
}

const readKept = (key: string): ReadonlyArray<KeptText> => {
  try {
    const { at, hash, text } = JSON.parse(localStorage.getItem(key) ?? "") as Omit<KeptText, "key">
    return typeof text === "string" && typeof at === "string" ? [{ key, text, hash, at }] : []
  } catch {
    return []
  }
}

export const forgetText = ({ key }: KeptText): void => localStorage.removeItem(key)
