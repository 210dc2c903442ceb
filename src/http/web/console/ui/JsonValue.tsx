/** A JSON value as a tree that opens and closes, copied or downloaded as text. It is never read as HTML. */
import { useMemo, useState } from "react"
import { Button } from "./Button.js"
import { useCopy } from "./CopyText.js"

/** Members or items of one level that are shown at once. */
const pageOf = 100
/** Characters of a text that are shown at once. */
const textLength = 2_000

const isBranch = (value: unknown): value is object => typeof value === "object" && value !== null

const Leaf = ({ value }: { readonly value: unknown }) => {
  const text = JSON.stringify(value) ?? "undefined"
  const [isWhole, setWhole] = useState(false)
  return text.length <= textLength || isWhole ? (
    <span>{text}</span>
  ) : (
    <span>
      {text.slice(0, textLength)} …{" "}
      <Button kind="plain" size="small" onClick={() => setWhole(true)}>
        {`Show all ${text.length.toLocaleString()} characters`}
      </Button>
    </span>
  )
}

const Branch = ({
  depth,
  name,
  value
}: {
  readonly name: string | undefined
  readonly value: unknown
  readonly depth: number
}) => {
  const [isOpen, setOpen] = useState(depth < 2)
  const [count, setCount] = useState(pageOf)
  const label = name === undefined ? null : <span className="key">{name}: </span>
  if (!isBranch(value))
    return (
      <span>
        {label}
        <Leaf value={value} />
      </span>
    )
  const members = Object.entries(value)
  if (members.length === 0)
    return (
      <span>
        {label}
        {Array.isArray(value) ? "[]" : "{}"}
      </span>
    )
  const size = Array.isArray(value) ? `[${members.length}]` : `{${members.length}}`
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        <span className="soft">{size}</span>
      </summary>
      {isOpen && (
        <ul>
          {members.slice(0, count).map(([key, item]) => (
            <li key={key}>
              <Branch name={key} value={item} depth={depth + 1} />
            </li>
          ))}
          {members.length > count && (
            <li>
              <Button kind="plain" size="small" onClick={() => setCount(count + pageOf)}>
                {`Show more of ${members.length.toLocaleString()}`}
              </Button>
            </li>
          )}
        </ul>
      )}
    </details>
  )
}

/** Saves text as a file of the browser. */
export const download = (name: string, text: string, type = "application/json"): void => {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

/** `name`: of the downloaded file, without ending. */
export const JsonValue = ({ name, value }: { readonly value: unknown; readonly name: string }) => {
  const { copy, isCopied } = useCopy()
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? "undefined", [value])
  return (
    <div className="stack tight">
      <div className="value tree" tabIndex={0} role="region" aria-label={name}>
        <Branch name={undefined} value={value} depth={0} />
      </div>
      <div className="row">
        <Button size="small" onClick={() => copy(text)}>
          {isCopied ? "Copied" : "Copy"}
        </Button>
        <Button size="small" onClick={() => download(`${name}.json`, text)}>
          Download
        </Button>
      </div>
    </div>
  )
}
