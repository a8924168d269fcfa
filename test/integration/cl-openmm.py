#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cl-openmm.py [STEPS]: an ordinary molecular-dynamics program, a box of flexible water with OpenMM. Each step is a handful
of kernels that take microseconds each. Prints energies and positions, which do not depend on where its arrays were."""

import hashlib
import sys

import openmm
from openmm import unit

SIDE = 3 # molecules
SPACING = 0.31 # nm
ATOMS = [(15.999, -0.82, 0.3166, 0.65, (0, 0, 0)), (1.008, 0.41, 1, 0, (0.1, 0, 0)), (1.008, 0.41, 1, 0, (-0.0333, 0.0943, 0))] # mass, charge, sigma, epsilon, place


def water():
    """The box, and the positions of its atoms."""
    system, length, positions = openmm.System(), SIDE * SPACING, []
    system.setDefaultPeriodicBoxVectors(openmm.Vec3(length, 0, 0), openmm.Vec3(0, length, 0), openmm.Vec3(0, 0, length))
    pairs, bonds, angles = openmm.NonbondedForce(), openmm.HarmonicBondForce(), openmm.HarmonicAngleForce()
    pairs.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    pairs.setCutoffDistance(length / 2.1)
    for number in range(SIDE ** 3):
        corner = [number // SIDE ** axis % SIDE * SPACING for axis in range(3)]
        first = system.getNumParticles()
        for mass, charge, sigma, epsilon, at in ATOMS:
            system.addParticle(mass)
            pairs.addParticle(charge, sigma, epsilon)
            positions.append(openmm.Vec3(*(c + a for c, a in zip(corner, at))))
        for other in 1, 2:
            bonds.addBond(first, first + other, 0.1, 345000)
            pairs.addException(first, first + other, 0, 1, 0)
        angles.addAngle(first + 1, first, first + 2, 1.91, 383)
        pairs.addException(first + 1, first + 2, 0, 1, 0)
    for force in pairs, bonds, angles:
        system.addForce(force)
    return system, positions


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    system, positions = water()
    integrator = openmm.VerletIntegrator(0.0005)
    context = openmm.Context(system, integrator, openmm.Platform.getPlatformByName("OpenCL"), {"Precision": "single"})
    context.setPositions(positions)
    for part in range(5):
        integrator.step(steps // 5)
        state = context.getState(getEnergy=True, getPositions=True, getVelocities=True)
        energies = [e.value_in_unit(unit.kilojoule_per_mole) for e in (state.getPotentialEnergy(), state.getKineticEnergy())]
        print("part", part, *energies, hashlib.sha256(repr((state.getPositions(), state.getVelocities())).encode()).hexdigest()[:16])


main()
