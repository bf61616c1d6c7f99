import { nodeCrypto } from '@org/agent-messaging-core/node'
import type { Command } from 'commander'
import type { Config } from '../settings/config.js'
import { existingDevDatabase } from '../settings/dev-files.js'
import { checkDatabase } from '../doctor/database.js'
import { failed, passed, shown, warning, type Finding } from '../doctor/finding.js'
import { checkClock, checkPort, checkProxies } from '../doctor/machine.js'
import { readSettings } from '../settings/load-config.js'
import { OperatorError } from '../operator-error.js'
import { isPostgresUrl } from '@org/agent-messaging-node/wiring'
import { addCommand } from './command.js'
import { jsonOption, type JsonOption } from './options.js'
import { print } from './output.js'

export function addDoctor(program: Command) {
  addCommand(
    program,
    'doctor',
    'check that a server can run here, and explain how to fix problems',
    [
      'agent-messaging doctor',
      'agent-messaging doctor --json | jq ".[] | select(.status != \\"ok\\")"',
    ],
  )
    .addOption(jsonOption())
    .action(async ({ json }: JsonOption) => {
      const findings = await examine()
      print(json, findings, findings.map(shown).join('\n'))
      const failures = findings.filter(({ status }) => status === 'failed')
      if (failures.length > 0)
        throw new OperatorError(`${failures.length} of ${findings.length} checks failed`)
    })
}

const STOPS_HERE = 'Fix this first. The other checks need it.'

async function examine() {
  const { config, warnings: lines } = readSettings()
  const warnings = lines.map((line) => warning('settings', line, 'Correct or remove the line.'))
  const node = passed('Node', process.versions.node)
  if (config.isErr())
    return [node, ...warnings, ...config.error.map((line) => failed('settings', line, STOPS_HERE))]
  return [
    node,
    ...warnings,
    passed('settings', 'all values are valid'),
    ...(await examineServer(config.value)),
  ]
}

async function examineServer(config: Config) {
  try {
    return await examineParts(config, existingDevDatabase(config))
  } catch (error) {
    // The files that `dev` created are incomplete.
    if (error instanceof OperatorError) return [failed('master key', error.message, STOPS_HERE)]
    throw error
  }
}

async function examineParts(config: Config, existing: ReturnType<typeof existingDevDatabase>) {
  const { databasePath: database, masterKey } = existing ?? config
  const file = database === undefined || isPostgresUrl(database) ? undefined : database
  const findings: Finding[] = []
  if (!masterKey)
    findings.push(
      failed(
        'master key',
        'SERVICE_MASTER_KEY is not set, but `start` requires it',
        'Create a key with `openssl rand -base64 32`, and keep a copy of it.',
      ),
    )
  findings.push(checkProxies(config.trustedProxies))
  findings.push(checkClock(file, Date.now()), await checkPort('port', config.host, config.port))
  if (config.metricsPort !== undefined)
    findings.push(await checkPort('metrics port', config.host, config.metricsPort))
  if (database === undefined)
    findings.push(
      failed(
        'database',
        'SERVICE_DATABASE_URL is not set, but `start` requires it',
        'Set it, for example to file:data.db, or run `dev`, which creates a database.',
      ),
    )
  else
    findings.push(
      ...(await checkDatabase(
        database,
        masterKey && nodeCrypto(masterKey, config.otherMasterKeys),
      )),
    )
  return findings
}
