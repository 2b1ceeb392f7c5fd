/** The state after an event, and what is to be done then, in this order. */
export interface Step<State, Effect> {
  readonly state: State;
  readonly effects: readonly Effect[];
}

interface Named {
  readonly name: string;
}

/** The members of a union that have a name. */
export type Of<Union extends Named, Name extends string> = Union extends unknown
  ? Name extends Union['name']
    ? Union & { readonly name: Name }
    : never
  : never;

/** For each state the events that mean anything in it; all others change nothing. */
export type StateTable<State extends Named, Event extends Named, Effect, Context> = {
  readonly [In in State['name']]: {
    readonly [On in Event['name']]?: (
      state: Of<State, In>,
      event: Of<Event, On>,
      context: Context,
    ) => Step<State, Effect>;
  };
};

/** Looks an event up in a table. */
export function followTable<State extends Named, Event extends Named, Effect, Context>(
  table: StateTable<State, Event, Effect, Context>,
  state: State,
  event: Event,
  context: Context,
): Step<State, Effect> {
  const row = table[state.name as State['name']][event.name as Event['name']] as
    | ((state: State, event: Event, context: Context) => Step<State, Effect>)
    | undefined;
  return row?.(state, event, context) ?? { state, effects: [] };
}

/** How each kind of effect is done. */
export type Performers<Effect extends { readonly do: string }> = {
  readonly [Do in Effect['do']]: (effect: Extract<Effect, { readonly do: Do }>) => unknown;
};

/** Something that has a state, takes events, and does what follows from them. */
export interface Machine<State, Event> {
  readonly state: () => State;
  /** Takes an event, and answers what its effects returned. */
  readonly dispatch: (event: Event) => readonly unknown[];
}

/** Creates a machine. An effect that may dispatch an event must be the last of its step. */
export function createMachine<State, Event, Effect extends { readonly do: string }>(
  initial: State,
  toNextState: (state: State, event: Event) => Step<State, Effect>,
  performers: Performers<Effect>,
): Machine<State, Event> {
  let current = initial;
  return {
    state: () => current,
    dispatch(event) {
      const { state, effects } = toNextState(current, event);
      current = state;
      return effects.map((effect) => (performers[effect.do as Effect['do']] as (effect: Effect) => unknown)(effect));
    },
  };
}
