// Fails on commit subjects over 72 characters, in the commits after the one that added this file.
import { spawnSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const LIMIT = 72
const THIS_FILE = 'scripts/check-commits.mjs'

/** Returns a sentence for each long subject, and none where there is no git or no history. */
export function longSubjects(root) {
  const git = (...args) =>
    spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim() ?? ''
  if (git('rev-parse', '--show-toplevel') !== realpathSync(root)) return []
  const first = git('log', '--diff-filter=A', '--format=%H', '--', THIS_FILE).split('\n').at(-1)
  if (!first) return []
  return git('log', '--format=%h %s', `${first}..HEAD`)
    .split('\n')
    .map((line) => ({
      commit: line.split(' ', 1)[0],
      length: line.length - line.indexOf(' ') - 1,
    }))
    .filter(({ length }) => length > LIMIT)
    .map(({ commit, length }) => `${commit}: the subject has ${length} characters, over ${LIMIT}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = longSubjects(fileURLToPath(new URL('..', import.meta.url)))
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length > 0 ? 1 : 0
}
