import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { pageOf, slug } from '../pages.mjs'

const index = readFileSync(new URL('../../llms.txt', import.meta.url), 'utf8')
const [, title = ''] = /^# (.+)$/m.exec(index) ?? []

/** The sections of llms.txt and their links. */
const sidebar = index
  .split(/^## /m)
  .slice(1)
  .map((section) => ({
    text: section.slice(0, section.indexOf('\n')),
    items: [...section.matchAll(/^- \[(.+?)\]\((.+?)\)/gm)].map(([, text, file]) => ({
      text,
      link: `/${pageOf(file)}`,
    })),
  }))

export default defineConfig({
  title,
  srcDir: 'build/pages',
  outDir: 'build/dist',
  cacheDir: 'build/cache',
  markdown: { anchor: { slugify: slug }, attrs: { disable: true } },
  themeConfig: {
    // Leaves room for the search and the menu on a phone.
    siteTitle: 'Agent Messaging',
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            // The browser gets the text of this function. Pages of other folders are sources.
            boostDocument: (id) => (/^\/(?:docs\/)?[^/]*$/.test(id.replace(/#.*/, '')) ? 1 : 0.1),
          },
        },
      },
    },
    outline: [2, 3],
    sidebar,
  },
})
