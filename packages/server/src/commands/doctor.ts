import { nodeCrypto } from '@org/agent-messaging-core/node'
import type { Command } from 'commander'
import { readConfig, type Config } from '../config.js'
import { isPostgresUrl } from '../database-url.js'
import { keptIfMade } from '../dev-files.js'
import { checkDatabase } from '../doctor/database.js'
import { bad, doubtful, good, shown, type Finding } from '../doctor/finding.js'
import { checkClock, checkNode, checkPort } from '../doctor/machine.js'
import { readEnvironment } from '../load-config.js'
import { OperatorError } from '../operator-error.js'
import { example, jsonOption } from './options.js'
import { print } from './output.js'

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'look at all that a server needs here, and say what to do about what is missing; changes nothing',
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example(
        'agent-messaging doctor',
        'agent-messaging doctor --json | jq ".[] | select(.status != \\"ok\\")"',
      ),
    )
    .action(async ({ json }: { readonly json?: true }) => {
      const findings = await examine()
      print(json, findings, findings.map(shown).join('\n'))
      const failed = findings.filter(({ status }) => status === 'failed')
      if (failed.length > 0)
        throw new OperatorError(`${failed.length} of ${findings.length} checks failed`)
    })
}

async function examine(): Promise<Finding[]> {
  const warnings = readEnvironment().map((line) =>
    doubtful('settings', line, 'Correct or remove it.'),
  )
  const config = readConfig(process.env)
  const node = checkNode(process.versions.node)
  if (config.isErr())
    return [
      node,
      ...warnings,
      ...config.error.map((line) => bad('settings', line, 'Nothing else can be looked at before.')),
    ]
  return [
    node,
    ...warnings,
    good('settings', 'every value is well-formed'),
    ...(await examineServer(config.value)),
  ]
}

async function examineServer(config: Config): Promise<Finding[]> {
  try {
    return await examineParts(config, keptIfMade(config))
  } catch (error) {
    // What `dev` made here is not whole.
    if (error instanceof OperatorError)
      return [bad('master key', error.message, 'Nothing else can be looked at before.')]
    throw error
  }
}

async function examineParts(
  config: Config,
  made: ReturnType<typeof keptIfMade>,
): Promise<Finding[]> {
  const { databasePath: database, masterKey } = made ?? config
  const file = database === undefined || isPostgresUrl(database) ? undefined : database
  return [
    ...(masterKey
      ? []
      : [
          bad(
            'master key',
            'SERVICE_MASTER_KEY is not set',
            'Make one with `openssl rand -base64 32`, and keep it: `start` needs it.',
          ),
        ]),
    checkClock(file, Date.now()),
    await checkPort('port', config.host, config.port),
    ...(config.metricsPort === undefined
      ? []
      : [await checkPort('metrics port', config.host, config.metricsPort)]),
    ...(database === undefined
      ? [
          bad(
            'database',
            'SERVICE_DATABASE_URL is not set',
            'Set it for `start`, such as file:data.db; `dev` makes one by itself.',
          ),
        ]
      : await checkDatabase(database, masterKey && nodeCrypto(masterKey, config.otherMasterKeys))),
  ]
}
