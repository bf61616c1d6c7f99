// Builds the site into build/dist, and checks every link and every anchor of it.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vitepress'
import { writePages } from './pages.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const site = fileURLToPath(new URL('.', import.meta.url))
const pages = path.join(site, 'build/pages')
const dist = path.join(site, 'build/dist')

rmSync(pages, { recursive: true, force: true })
const files = writePages(root, pages)
await build(site)
// The links of llms.txt lead to the Markdown.
for (const file of ['llms.txt', ...files]) cpSync(path.join(root, file), path.join(dist, file))

const dead = deadLinks()
for (const link of dead) console.error(link)
if (dead.length > 0) process.exitCode = 1
else console.log(`${files.length} Markdown files, and no dead link.`)

/** Returns a line for each link or asset of the built pages that leads nowhere. */
function deadLinks() {
  const names = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.html'),
  )
  const html = new Map(
    names.map((name) => [path.posix.join('/', name), readFileSync(path.join(dist, name), 'utf8')]),
  )
  const isDead = (page, link) => {
    const { pathname, hash } = new URL(link, `http://site${page}`)
    const file = decodeURIComponent(pathname).replace(/\/$/, '/index.html')
    if (!existsSync(path.join(dist, file))) return true
    return hash !== '' && !html.get(file)?.includes(`id="${decodeURIComponent(hash.slice(1))}"`)
  }
  return [...html].flatMap(([page, text]) =>
    [...text.matchAll(/ (?:href|src|srcset)="(?!\w+:|\/\/)([^"]+)"/g)]
      .filter(([, link]) => isDead(page, link))
      .map(([, link]) => `${page}: ${link}`),
  )
}
