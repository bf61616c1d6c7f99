// What npm writes wrongly or silently into package-lock.json, found here instead of in somebody's `npm ci`.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Newer versions need a newer Node than ours, and no error at install time says so. */
const HELD_BACK = { 'better-sqlite3': '12.11.1' }

/** One sentence for each fault of a parsed lockfile. */
export function lockfileProblems({ packages }) {
  return [
    ...Object.entries(packages).flatMap(([place, entry]) => [
      ...missingPlatforms(packages, place, entry),
      ...hostOf(place, entry),
    ]),
    ...unpinned(packages),
  ]
}

/** npm leaves out the platform packages that it could not see, and `npm ci` fails with EUSAGE on the platform that needs one. */
const missingPlatforms = (packages, place, { optionalDependencies = {} }) =>
  Object.keys(optionalDependencies)
    .filter((name) => !places(place).some((parent) => packages[`${parent}node_modules/${name}`]))
    .map(
      (name) =>
        `${place || 'the root'} names the optional dependency ${name}, which has no entry: install it again with a registry that has it`,
    )

/** Where Node looks for what the package at `place` imports: under itself, then under each of its parents, up to the root. */
function places(place) {
  const folders = place === '' ? [] : place.split('/')
  return folders.map((_, i) => `${folders.slice(0, folders.length - i).join('/')}/`).concat('')
}

const hostOf = (place, { resolved = '' }) =>
  resolved.includes('//')
    ? [
        `${place} is tied to a host; \`omit-lockfile-registry-resolved=true\` in .npmrc leaves it out`,
      ]
    : []

const unpinned = (packages) =>
  Object.entries(HELD_BACK).flatMap(([name, version]) => {
    const found = Object.keys(packages).filter((place) => place.endsWith(`node_modules/${name}`))
    if (found.length === 0) return [`${name} is not in the lockfile; it is held at ${version}`]
    return found
      .filter((place) => packages[place].version !== version)
      .map((place) => `${place} is ${packages[place].version}; it is held at ${version}`)
  })

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = lockfileProblems(
    JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')),
  )
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length > 0 ? 1 : 0
}
