import type { AgentFunctions as Agents, Programs } from '@org/agent-messaging-node/wiring'
import type { Config } from './settings/config.js'
import { allowedValue, type VariableName } from './settings/environment.js'
import type { Logger } from './telemetry/logging.js'
import { OperatorError } from './operator-error.js'
import { otlpExports } from './settings/otlp-setting.js'
import { createServer, type RunningServer } from './server.js'

export type StartOptions = {
  readonly config: Config
  readonly agents?: Agents | undefined
  readonly programs?: Programs | undefined
  readonly logger?: Logger | undefined
  readonly worker?: boolean | undefined
}

/** Starts a production server. Settings without a default are required and never made up. */
export async function startServer({ config, ...options }: StartOptions): Promise<RunningServer> {
  const { databasePath, masterKey, allowedCidrs } = config
  if (databasePath === undefined || masterKey === undefined)
    throw missing({ SERVICE_DATABASE_URL: databasePath, SERVICE_MASTER_KEY: masterKey })
  return createServer({
    ...config,
    ...options,
    databasePath,
    masterKey,
    overrideGlobalObjects: true,
    ...otlpExports(process.env),
    addresses: allowedCidrs ? { allowedCidrs } : {},
  })
}

function missing(values: Readonly<Partial<Record<VariableName, unknown>>>) {
  const names = (Object.keys(values) as VariableName[]).filter((name) => values[name] === undefined)
  return new OperatorError(
    names.map((name) => `${name} is required; set it to ${allowedValue(name)}`).join('\n'),
    2,
  )
}
