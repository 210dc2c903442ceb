/** Editors of code and JSON. Their code is loaded when the first one is shown; until then the text itself is. */
import { lazy, Suspense, useId, useMemo } from "react"
import type { CodeViewProps } from "../editor/CodeView.js"
import type { MergeTextProps } from "../editor/MergeText.js"

const CodeView = lazy(async () => ({ default: (await import("../editor/CodeView.js")).CodeView }))
const MergeText = lazy(async () => ({ default: (await import("../editor/MergeText.js")).MergeText }))

/** Edits a text. The page keeps it; only a changed `revision` replaces what was typed. */
export const Editor = (props: CodeViewProps) => (
  <Suspense fallback={<pre className="value">{props.value}</pre>}>
    <CodeView {...props} />
  </Suspense>
)

/** Two texts with their differences. */
export const Compare = (props: MergeTextProps) => (
  <Suspense fallback={<p className="soft">Loading the comparison …</p>}>
    <MergeText {...props} />
  </Suspense>
)

/**
 * A field of JSON with a small editor. What is wrong with its syntax is shown as it is typed; `wrong` is what the service says
 * of it, `problems` with places in the text, `revision` as for `Editor`.
 */
export const JsonField = ({
  hint,
  label,
  problems: located,
  schema,
  wrong,
  ...editor
}: Pick<CodeViewProps, "label" | "onChange" | "revision" | "value" | "isReadOnly" | "problems"> & {
  readonly hint?: string
  readonly wrong?: string | undefined
  readonly schema?: NonNullable<CodeViewProps["knowledge"]>["schema"]
}) => {
  const id = useId()
  const found = [...(located ?? []), ...(wrong === undefined ? [] : [{ message: wrong }])]
  const key = JSON.stringify(found)
  // The same problems are not marked again at each key.
  const problems = useMemo(() => found, [key])
  const knowledge = useMemo(() => ({ schema }), [schema])
  return (
    <div className="field" role="group" aria-labelledby={id}>
      <span className="label" id={id}>
        {label}
      </span>
      {hint !== undefined && <span className="hint">{hint}</span>}
      <Editor {...editor} label={label} language="json" isShort problems={problems} knowledge={knowledge} />
    </div>
  )
}
