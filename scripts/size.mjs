// Prints how much product code there is: syntax nodes, plus the words of texts and of SQL. Comments,
// the length of names and line breaks do not change the size, nor does text that moves from code into
// SQL, JSON or assets. Tests, the contract, fakes and generated files are left out.
// In the project's root, after npm ci: node scripts/size.mjs [file…]
import { readdirSync, readFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'

const LEFT_OUT =
  /\.test\.|\.generated\.|^packages\/[^/]*testing[^/]*\/|^packages\/client\/src\/webhooks\/testing\//
const CODE = /\.(tsx?|[cm]?js)$/
const words = (text) => text.match(/\w+/g)?.length ?? 0
const withoutSqlComments = (text) => text.replace(/--.*$/gm, '')

function under(folder) {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(
      (file) => `${folder}/${file}`,
    )
  } catch {
    return []
  }
}

function sizeOf(file) {
  const text = readFileSync(file, 'utf8')
  if (!CODE.test(file)) return { nodes: 0, words: words(withoutSqlComments(text)) }
  const size = { nodes: 0, words: 0 }
  const visit = (node) => {
    if (!node || typeof node !== 'object') return
    if (Array.isArray(node)) return node.forEach(visit)
    if (node.type) size.nodes++
    if (node.type === 'Literal' && typeof node.value === 'string') size.words += words(node.value)
    if (node.type === 'TemplateElement') size.words += words(withoutSqlComments(node.value.raw))
    if (node.type === 'JSXText') size.words += words(node.value)
    for (const key in node) if (key !== 'type') visit(node[key])
  }
  visit(parseSync(file, text).program)
  return size
}

const named = process.argv.slice(2)
const found = readdirSync('packages')
  .flatMap((name) => ['src', 'assets'].flatMap((folder) => under(`packages/${name}/${folder}`)))
  .filter((file) => /\.(tsx?|[cm]?js|sql|json|html)$/.test(file) && !LEFT_OUT.test(file))
const sums = {}
for (const file of (named.length ? named : found).sort()) {
  const { nodes, words } = sizeOf(file)
  const sum = (sums[named.length ? file : file.split('/')[1]] ??= {
    files: 0,
    nodes: 0,
    words: 0,
    size: 0,
  })
  sum.files++
  sum.nodes += nodes
  sum.words += words
  sum.size += nodes + words
}
console.table(sums)
const total = (key) => Object.values(sums).reduce((sum, part) => sum + part[key], 0)
console.log(`size ${total('size')}, ${total('files')} files`)
