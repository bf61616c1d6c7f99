/** A program that agents can run. The operator configures programs, and requests cannot. */
export type Program = {
  /** A path, or a name that is looked up in `PATH`. */
  readonly command: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The default is the service's own folder. */
  readonly cwd?: string
  /** Names of further variables that the program inherits from the service's environment. */
  readonly inheritEnv?: readonly string[]
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Variables that a program needs for its files and language. The others can hold our secrets. */
const ALWAYS_INHERITED = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']

export function childEnvironment(
  { env, inheritEnv = [] }: Program,
  ours: Environment,
): Record<string, string> {
  const inherited: Record<string, string> = {}
  for (const name of [...ALWAYS_INHERITED, ...inheritEnv]) {
    const value = ours[name]
    if (value !== undefined) inherited[name] = value
  }
  return { ...inherited, ...env }
}
