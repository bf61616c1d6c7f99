import { environment, variables, type VariableName } from './environment.js'

type Row = {
  readonly name: VariableName
  readonly about: string
  readonly takes: string
  readonly byDefault: string | undefined
}

const rows = (): Row[] =>
  Object.entries(environment.shape).map(([name, schema]) => {
    const { about = '', takes = '' } = variables.get(schema) ?? {}
    const byDefault = 'defaultValue' in schema.def ? schema.def.defaultValue : undefined
    return { name: name as VariableName, about, takes, byDefault }
  })

/** The settings as a table for the documentation. */
export function configMarkdown(): string {
  const lines = rows().map(
    ({ name, about, takes, byDefault }) =>
      `| \`${name}\` | ${about} | ${takes} | ${byDefault === undefined ? '' : `\`${byDefault}\``} |`,
  )
  return ['| variable | meaning | takes | default |', '|---|---|---|---|', ...lines].join('\n')
}

/** The settings as an `.env` file that changes nothing: every line is commented out. */
export function configEnv(): string {
  const entries = rows().map(
    ({ name, about, takes, byDefault = '' }) =>
      `# ${about}\n# Takes ${takes}.\n# ${name}=${byDefault}\n`,
  )
  return [
    '# Copy to .env, which is read at the start. A variable of the process goes before the line here.\n',
    ...entries,
  ].join('\n')
}
