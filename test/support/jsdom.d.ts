/**
 * Types of the part of jsdom that tests use: its published types add the DOM's globals to every file of the project.
 */
declare module "jsdom" {
  export class JSDOM {
    constructor(html: string, options: { readonly runScripts: "outside-only"; readonly url: string })
    readonly window: {
      readonly eval: (source: string) => unknown
      readonly close: () => void
      readonly document: object
    }
  }
}
