// Copies the Markdown of the repository for the site, from llms.txt along the links. A linked file
// that is no Markdown becomes a page that shows it. A linked folder becomes a page that lists it.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'

const { posix } = path
const LINK = /(?<=\]\()(?!\w+:|#|\/\/)[^)\s]+(?=\))/g
const ASSET = /(?<= (?:src|srcset)=")(?!\w+:)[^"\s]+(?=")/g
const IMAGE = /\.(?:png|svg)$/
const UNLISTED = /^(?:node_modules|dist|build|package-lock\.json|\..+)$/
/** The languages with colours. Other files are shown as text. */
const LANGUAGE = /^(?:mjs|js|jsx|ts|py|go|json|sh)$/

/** Returns the name of a heading in URLs, as GitHub makes it. */
export const slug = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** Returns the page of the site for a Markdown file of the repository. */
export const pageOf = (file) => file.replace(/(^|\/)README\.md$/, '$1index.md')

/** Writes the pages into a folder. Returns the Markdown files. Throws if a link leads nowhere. */
export function writePages(root, target) {
  const waiting = readFileSync(path.join(root, 'llms.txt'), 'utf8').match(LINK) ?? []
  const files = new Set(waiting)
  const write = (page, text) => {
    const place = path.join(target, page)
    mkdirSync(path.dirname(place), { recursive: true })
    writeFileSync(place, text)
  }

  /** Returns the page for a linked place, and makes the page if nothing else does. */
  function visit(place) {
    const isFolder = statSync(path.join(root, place)).isDirectory()
    const readme = posix.join(place, 'README.md')
    if (isFolder && existsSync(path.join(root, readme))) return visit(readme)
    if (place.endsWith('.md')) {
      if (!files.has(place)) waiting.push(place)
      files.add(place)
      return pageOf(place)
    }
    if (IMAGE.test(place)) {
      cpSync(path.join(root, place), path.join(target, place))
      return place
    }
    const page = isFolder ? posix.join(place, 'index.md') : `${place}.md`
    if (!existsSync(path.join(target, page))) {
      write(page, '')
      write(page, isFolder ? listing(place) : `# ${place}\n\n${shown(place)}`)
    }
    return page
  }

  /** Links the Markdown of a folder, and shows all its other files. */
  function listing(folder) {
    const sections = filesBelow(folder).map((file) => {
      const name = posix.relative(folder, file)
      return file.endsWith('.md')
        ? `- [${name}](${posix.relative(folder, visit(file))})`
        : `\n## ${name}\n\n${shown(file)}`
    })
    return `# ${folder}\n\n${sections.join('\n')}\n`
  }

  function filesBelow(folder) {
    const entries = readdirSync(path.join(root, folder), { withFileTypes: true })
    return entries
      .filter(({ name }) => !UNLISTED.test(name))
      .flatMap((entry) => {
        const place = posix.join(folder, entry.name)
        return entry.isDirectory() ? filesBelow(place) : [place]
      })
  }

  function shown(file) {
    const text = readFileSync(path.join(root, file), 'utf8')
    const extension = path.extname(file).slice(1)
    const language = LANGUAGE.test(extension) ? extension : 'text'
    return `\`\`\`\`${language}\n${text}\n\`\`\`\`\n`
  }

  function copy(file) {
    const folder = posix.dirname(file)
    const linked = readFileSync(path.join(root, file), 'utf8').replaceAll(LINK, (link) => {
      const [to, heading] = link.split('#')
      const place = posix.join(folder, to).replace(/\/$/, '')
      if (!existsSync(path.join(root, place))) throw new Error(`${file} links to ${link}`)
      const page = posix.relative(folder, visit(place))
      return heading === undefined ? page : `${page}#${heading}`
    })
    const text = linked.replaceAll(ASSET, (asset) => {
      const place = posix.join(folder, asset)
      cpSync(path.join(root, place), path.join(target, place))
      return `./${asset}`
    })
    // VitePress takes the element out of a paragraph only after an empty line.
    write(pageOf(file), text.replaceAll(/(?<!\n)\n<picture>/g, '\n\n<picture>'))
  }

  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) copy(file)
  return [...files]
}
