/**
 * Types of the part of jsdom that tests use: its published types add the DOM's globals to every file of the project.
 */
declare module "jsdom" {
  interface JSDOMElement {
    readonly textContent: string | null
    readonly getAttribute: (name: string) => string | null
    readonly method: string
    readonly action: string
  }
  export class JSDOM {
    constructor(html: string, options: { readonly runScripts: "outside-only" | "dangerously"; readonly url: string })
    readonly window: {
      readonly eval: (source: string) => unknown
      readonly close: () => void
      readonly document: {
        readonly querySelector: (selector: string) => JSDOMElement | null
        readonly querySelectorAll: (selector: string) => { readonly length: number }
      }
    }
  }
}
