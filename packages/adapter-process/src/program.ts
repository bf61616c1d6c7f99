/** A program that the operator lets agents be. It comes from his configuration alone, never from a request. */
export type Program = {
  /** A path, or a name that is looked up in `PATH`. */
  readonly command: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Ours unless given. */
  readonly cwd?: string
  /** Names of variables of our environment that it is to see too. */
  readonly inheritEnv?: readonly string[]
}

export type Environment = Readonly<Record<string, string | undefined>>

/** What a program needs to find its files and its language. Our own secrets are in the environment too, so nothing else passes unnamed. */
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
