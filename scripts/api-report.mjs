// The public surface of every package, as its users' compilers see it, is kept in api/: a change of it shows in review.
// `node scripts/api-report.mjs` fails when a report is not what the packages say; with --write it writes them anew.
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

// What our compiler and linter have said is not said again here.
const quiet = { default: { logLevel: 'none' } }
const overrideTsconfig = {
  compilerOptions: {
    ...{
      target: 'es2022',
      lib: ['es2023', 'webworker'],
      module: 'nodenext',
      moduleResolution: 'nodenext',
      types: ['node'],
      strict: true,
    },
    ...{ exactOptionalPropertyTypes: true, skipLibCheck: true },
  },
}

/** Every entry that has types, with the name of its report. */
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
  for (const file of wrong) console.error(`api/${file} is not what the package says.`)
  if (wrong.length > 0)
    console.error(
      'If that is meant: npm run build && npm run api, and commit what it writes, with a changeset.',
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
  const [kept, made] = [path.join(reports, file), path.join(temporary, file)]
  if (existsSync(kept) && linesOf(kept) === linesOf(made)) return true
  if (isWriting) copyFileSync(made, kept)
  return false
}

/** In an order of their own: the compiler lists the members of a union as it came across them, which a build of a part changes. */
function linesOf(file) {
  return readFileSync(file, 'utf8').split('\n').sort().join('\n')
}
