/** Ctrl-K: goes to a page by its name, or to a record by its pasted id. */
import * as Ariakit from "@ariakit/react"
import { useEffect, useState } from "react"
import { useLocation } from "wouter"
import { sections } from "../Pages.js"

interface Goal {
  readonly name: string
  readonly to: string
}

const goalsOf = (text: string): ReadonlyArray<Goal> => {
  const wanted = text.trim()
  const prefix = /^([a-z]{2,4})_[A-Za-z0-9]+$/.exec(wanted)?.[1]
  const place = prefix === undefined ? undefined : sections.find(({ record }) => record?.[0] === prefix)
  if (place !== undefined) return [{ name: `Open ${wanted}`, to: `${place.path}/${wanted}` }]
  return sections
    .filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()))
    .map(({ name, path }) => ({ name, to: path }))
}

export const Search = () => {
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState("")
  const [, go] = useLocation()
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setOpen(true)
    }
    addEventListener("keydown", listen)
    return () => removeEventListener("keydown", listen)
  }, [])
  const goals = goalsOf(text)
  const close = () => {
    setOpen(false)
    setText("")
  }
  return (
    <>
      <button type="button" className="button" aria-keyshortcuts="Control+K" onClick={() => setOpen(true)}>
        Search <kbd className="soft">Ctrl K</kbd>
      </button>
      <Ariakit.Dialog
        open={isOpen}
        onClose={close}
        className="dialog"
        backdrop={<div className="backdrop" />}
        unmountOnHide
      >
        <Ariakit.DialogHeading className="unseen">Search</Ariakit.DialogHeading>
        <Ariakit.ComboboxProvider
          open
          value={text}
          setValue={setText}
          setSelectedValue={(to) => {
            close()
            if (typeof to === "string") go(to)
          }}
          focusLoop
        >
          <Ariakit.Combobox
            autoSelect="always"
            className="input"
            aria-label="A page, or the id of a record"
            placeholder="A page, or the id of a record"
          />
          <Ariakit.ComboboxList alwaysVisible className="stack tight">
            {goals.map(({ name, to }) => (
              <Ariakit.ComboboxItem key={to} value={to} setValueOnClick={false} className="item">
                {name}
              </Ariakit.ComboboxItem>
            ))}
          </Ariakit.ComboboxList>
          {goals.length === 0 && <p className="soft">No page has this name, and no record such an id.</p>}
        </Ariakit.ComboboxProvider>
      </Ariakit.Dialog>
    </>
  )
}
