/** As much of jsdom as tests use; its published types bring the DOM's globals into every file of the project. */
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
