// Finds faults that npm writes into package-lock.json without an error.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** Returns a sentence for each fault of a parsed lockfile. */
export const lockfileProblems = ({ packages }) =>
  Object.entries(packages).flatMap(([place, entry]) => [
    ...missingPlatforms(packages, place, entry),
    ...hostOf(place, entry),
  ])

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

/** Returns the lockfiles of recipes, checks and the site, which are installed in their folders. */
const lockfilesOfFolders = (root) =>
  ['recipes', 'checks']
    .flatMap((parent) => readdirSync(path.join(root, parent)).map((name) => `${parent}/${name}`))
    .concat('site')
    .map((folder) => `${folder}/package-lock.json`)
    .filter((file) => existsSync(path.join(root, file)))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  for (const file of ['package-lock.json', ...lockfilesOfFolders(root)]) {
    const lockfile = JSON.parse(readFileSync(path.join(root, file), 'utf8'))
    const problems = lockfileProblems(lockfile)
    for (const problem of problems) console.error(`${file}: ${problem}`)
    if (problems.length > 0) process.exitCode = 1
  }
}
