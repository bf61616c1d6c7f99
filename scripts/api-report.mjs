// Keeps the public surface of every package in api/, so that a change of it shows in review.
// Fails when a report differs from its package. With --write, writes the reports instead.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor'

const root = fileURLToPath(new URL('..', import.meta.url))
const reports = path.join(root, 'api')
const isWriting = process.argv.includes('--write')

// The compiler and the linter have their own steps in CI.
const quiet = { default: { logLevel: 'none' } }
const overrideTsconfig = {
  compilerOptions: {
    target: 'es2022',
    lib: ['es2023', 'webworker'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
  },
}

/** Each entry with types, and the name of its report. */
const entries = readdirSync(path.join(root, 'packages'))
  .map((name) => path.join(root, 'packages', name))
  .filter((home) => existsSync(path.join(home, 'tsconfig.json')))
  .flatMap((home) => {
    const { name, exports = {} } = JSON.parse(readFileSync(path.join(home, 'package.json'), 'utf8'))
    return Object.entries(exports)
      .filter(([, { types }]) => types)
      .map(([entry, { types }]) => {
        const title = [name.slice(name.indexOf('/') + 1), ...entry.split('/').slice(1)].join('.')
        return { home, types: path.join(home, types), file: `${title}.api.md` }
      })
  })

const temporary = mkdtempSync(path.join(tmpdir(), 'api-report-'))
mkdirSync(reports, { recursive: true })
try {
  const changed = entries.filter((entry) => !isUpToDate(entry)).map(({ file }) => file)
  const stale = readdirSync(reports).filter((file) => !entries.some((entry) => entry.file === file))
  for (const file of isWriting ? stale : []) rmSync(path.join(reports, file))
  const wrong = isWriting ? [] : [...changed, ...stale]
  for (const file of wrong) console.error(`api/${file} differs from its package.`)
  if (wrong.length > 0)
    console.error(
      'If you want this change: npm run build && npm run api. Commit it with a changeset.',
    )
  else console.log(`${entries.length} reports of public surfaces are up to date.`)
  process.exitCode = wrong.length > 0 ? 1 : 0
} finally {
  rmSync(temporary, { recursive: true })
}

function isUpToDate({ home, types, file }) {
  const config = ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: path.join(home, 'package.json'),
    configObject: {
      projectFolder: home,
      mainEntryPointFilePath: types,
      newlineKind: 'lf',
      compiler: { overrideTsconfig, skipLibCheck: true },
      apiReport: {
        enabled: true,
        reportFileName: file,
        reportFolder: reports,
        reportTempFolder: temporary,
        includeForgottenExports: false,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: quiet,
        extractorMessageReporting: quiet,
        tsdocMessageReporting: quiet,
      },
    },
  })
  Extractor.invoke(config, {
    localBuild: false,
    messageCallback: (message) => (message.handled = true),
  })
  const kept = path.join(reports, file)
  const made = path.join(temporary, file)
  if (existsSync(kept) && linesOf(kept) === linesOf(made)) return true
  if (isWriting) copyFileSync(made, kept)
  return false
}

/** Sorts the lines, because a partial build changes the order of a union's members. */
function linesOf(file) {
  return readFileSync(file, 'utf8').split('\n').sort().join('\n')
}
