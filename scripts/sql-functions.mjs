// `npm run sql`: puts the SQL functions of the PostgreSQL adapter into a module, because bundles of
// hosts have no files to read.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(
  new URL('../packages/adapter-postgres/src/schema/functions', import.meta.url),
)
export const generated = path.join(folder, '../functions.generated.ts')

/** Leaves out the comment before the statement, which changes nothing in the database. */
const textOf = (file) => readFileSync(path.join(folder, file), 'utf8').replace(/^(--.*\n)+/, '')

const entryOf = (file) => {
  const name = path.parse(file).name.replaceAll('-', '_')
  return `  ${name}: \`${textOf(file).replaceAll(/[`\\]|\$\{/g, String.raw`\$&`)}\`,\n`
}

export const moduleText = () =>
  `// Made from functions/*.sql by \`npm run sql\`.
export const functions = {
${readdirSync(folder)
  .filter((file) => file.endsWith('.sql'))
  .sort()
  .map(entryOf)
  .join('')}}
`

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(generated, moduleText())
