/** Text in the font of code with a button that copies it. */
import { useEffect, useState } from "react"

export const useCopy = () => {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), 2_000)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = (text: string) => void navigator.clipboard.writeText(text).then(() => setCopied(true))
  return { isCopied, copy }
}

/** `shown`: what is seen of a long text. */
export const CopyText = ({ shown, text }: { readonly text: string; readonly shown?: string }) => {
  const { copy, isCopied } = useCopy()
  return (
    <span className="copy">
      <code>{shown ?? text}</code>
      <button
        type="button"
        className="button plain small"
        aria-label={`Copy ${shown ?? text}`}
        onClick={() => copy(text)}
      >
        {isCopied ? "Copied" : "Copy"}
      </button>
    </span>
  )
}
