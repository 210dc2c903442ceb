/** A button that opens a menu of further actions. */
import * as Ariakit from "@ariakit/react"
import { may, useMe } from "../api/Session.js"

export interface MenuItem {
  readonly name: string
  readonly run: () => void
  readonly needs?: string
}

export const Menu = ({ items, label }: { readonly label: string; readonly items: ReadonlyArray<MenuItem> }) => {
  const me = useMe()
  return (
    <Ariakit.MenuProvider>
      <Ariakit.MenuButton className="button">
        {label} <Ariakit.MenuButtonArrow />
      </Ariakit.MenuButton>
      <Ariakit.Menu gutter={4} className="popover">
        {items.map(({ name, needs, run }) => {
          const isAllowed = needs === undefined || may(me, needs)
          return (
            <Ariakit.MenuItem key={name} className="item" disabled={!isAllowed} accessibleWhenDisabled onClick={run}>
              {name}
              {!isAllowed && <div className="soft">Needs {needs}</div>}
            </Ariakit.MenuItem>
          )
        })}
      </Ariakit.Menu>
    </Ariakit.MenuProvider>
  )
}
