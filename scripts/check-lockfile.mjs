// Finds faults that npm writes into package-lock.json without an error.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Newer versions need a newer Node than ours, and npm installs them without an error. */
const HELD_BACK = { 'better-sqlite3': '12.11.1' }

/** Returns a sentence for each fault of a parsed lockfile. */
export function lockfileProblems({ packages }) {
  return [
    ...Object.entries(packages).flatMap(([place, entry]) => [
      ...missingPlatforms(packages, place, entry),
      ...hostOf(place, entry),
    ]),
    ...unpinned(packages),
  ]
}

/** Without an entry for a platform's package, `npm ci` fails on that platform with EUSAGE. */
const missingPlatforms = (packages, place, { optionalDependencies = {} }) =>
  Object.keys(optionalDependencies)
    .filter((name) => !places(place).some((parent) => packages[`${parent}node_modules/${name}`]))
    .map(
      (name) =>
        `${place || 'the root'} has the optional dependency ${name} without an entry. Install it from a registry that has it.`,
    )

/** Returns the folders where Node looks for imports of the package at `place`. */
function places(place) {
  const folders = place === '' ? [] : place.split('/')
  return folders.map((_, i) => `${folders.slice(0, folders.length - i).join('/')}/`).concat('')
}

const hostOf = (place, { resolved = '' }) =>
  resolved.includes('//')
    ? [`${place} names a host. Set \`omit-lockfile-registry-resolved=true\` in .npmrc.`]
    : []

const unpinned = (packages) =>
  Object.entries(HELD_BACK).flatMap(([name, version]) => {
    const found = Object.keys(packages).filter((place) => place.endsWith(`node_modules/${name}`))
    if (found.length === 0) return [`${name} is missing and must be held at ${version}`]
    return found
      .filter((place) => packages[place].version !== version)
      .map((place) => `${place} is ${packages[place].version} and must be held at ${version}`)
  })

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = lockfileProblems(
    JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')),
  )
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length > 0 ? 1 : 0
}
