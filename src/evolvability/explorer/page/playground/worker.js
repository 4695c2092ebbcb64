// A worker: it is given what there is to simulate, then mutations to try, one after another.

import { addressOf, parametersAt } from "playground/members";
import { Robot } from "playground/robots";
import { World } from "playground/worlds";

const simulators = new Map();
const centers = new Map();

// {of, setup}: what is simulated under a name. {of, center}: what is mutated there from now on.
// {of, who, factor, changes}: a mutation to try, with so many times the standard deviation, in a changed world. It is
// always answered: with what was found, or with the text of what went wrong.
onmessage = ({ data: { of, setup, center, ...data } }) => {
  if (setup) setUp(of, setup);
  else if (center) centers.set(of, { center, ...data });
  else postMessage(answer(of, data));
};

function setUp(of, setup) {
  try {
    simulators.set(of, new (setup.program ? Robot : World)(setup));
  } catch (error) {
    const episode = () => { throw error; }; // the first cause answers whatever is tried there
    simulators.set(of, { episode });
    throw error; // the page says it at once
  }
}

function answer(of, task) {
  try {
    return { found: tried(of, task) };
  } catch (error) {
    return { failure: String(error) };
  }
}

function tried(of, { who, factor, changes }) {
  const { center, population, scaling } = centers.get(of);
  const address = addressOf(population, who);
  const parameters = parametersAt(population, center, address, factor);
  return simulators.get(of).episode(parameters, scaling, address.start, changes);
}
